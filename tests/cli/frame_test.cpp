// Tests of the command frame: what a command line means, how it is refused, and what help says.
#include <doctest/doctest.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <system_error>

#include "cli/help.h"
#include "cli/parse.h"
#include "cli/run.h"
#include "lockstep/base/error.h"
#include "print.h"

using namespace lockstep;

namespace {

constexpr std::string_view kIsas[] = {"scalar", "avx2", "avx512"};
constexpr OptionDef kTrainOptions[] = {
    {.name = "--resume", .value_name = "RUN", .doc = "continue a run", .fallback = "auto",
     .kind = OptionKind::optional_value},
    {.name = "--threads", .value_name = "N", .doc = "worker threads", .fallback = "2"},
    {.name = "--isa", .value_name = "ISA", .doc = "force one", .choices = kIsas},
    {.name = "--tag", .value_name = "WORD", .doc = "a label", .kind = OptionKind::repeated},
    {.name = "--new", .value_name = {}, .doc = "a new run", .kind = OptionKind::flag, .short_name = "-n"},
};
constexpr PositionalDef kTrainPositionals[] = {{"CONFIG", "the YAML file"}, {"OVERRIDE", "path=value", false, true}};

int run_train(const Args& args, Console& console) {
  const std::string what = args.positional("CONFIG");
  if (what == "data.yaml") fail(Category::data, "no such data");
  if (what == "bug.yaml") throw std::logic_error("vector::_M_range_check");
  if (what == "big.yaml") throw std::bad_alloc();
  if (what == "length.yaml") throw std::length_error("vector::_M_default_append");
  if (what == "threads.yaml") throw std::system_error(EAGAIN, std::system_category());
  if (what == "loop.yaml") throw std::system_error(ELOOP, std::system_category());
  if (what == "rude.yaml") {
    console.warn("a\x1b[31mb");
    console.info("c\xff");
    console.result("d\x1b[0m", Json::object().set("text", "e\xff\x1b"));
    return 0;
  }
  if (what == "diagnosed.yaml") fail(Category::usage, "x.yaml:1:2: error: unknown key 'a'\n1 error\n");
  console.info("working");
  console.result("done", Json::object().set("threads", *args.integer("--threads", 1, 64)));
  return what == "code.yaml" ? 130 : 0;
}
int run_nothing(const Args&, Console&) { return 0; }

constexpr CommandDef kTrain = {.name = "train",
                               .doc = "Train a model",
                               .about = "More about it.",
                               .positionals = kTrainPositionals,
                               .options = kTrainOptions,
                               .example = "lockstep train a.yaml seed=7",
                               .run = run_train,
                               .overrides = true};
constexpr CommandDef kLs = {.name = "runs ls", .doc = "List runs", .run = run_nothing};
constexpr CommandDef kShow = {.name = "runs show", .doc = "Show a run", .run = run_nothing};
constexpr const CommandDef* kCommands[] = {&kLs, &kShow, &kTrain};

using Words = std::vector<std::string>;

Invocation read(const Words& words, std::string_view runs = {}) { return parse(words, kCommands, runs); }

std::string refusal(const Words& words) {
  try {
    static_cast<void>(read(words));
  } catch (const Error& error) {
    CHECK(error.category == Category::usage);
    return error.message;
  }
  return "accepted";
}

// Runs a command line and gives "<exit code>|<stdout>|<stderr>".
std::string outcome(const Words& words) {
  char *out = nullptr, *err = nullptr;
  std::size_t out_size = 0, err_size = 0;
  std::FILE* out_file = ::open_memstream(&out, &out_size);
  std::FILE* err_file = ::open_memstream(&err, &err_size);
  int code = 0;
  {
    Console console(out_file, err_file);
    code = run_cli(words, kCommands, console, [] {});
  }
  std::fclose(out_file);
  std::fclose(err_file);
  std::string text = std::to_string(code) + "|" + out + "|" + err;
  std::free(out);
  std::free(err);
  return text;
}

}  // namespace

TEST_CASE("a command line becomes a command with arguments") {
  const Invocation i = read(
      {"--json", "train", "a.yaml", "--threads", "4", "seed=7", "model.layers=[1,2]", "--tag=x", "--tag", "y", "-n"});
  CHECK(i.command == &kTrain);
  CHECK(i.json);
  CHECK_FALSE(i.quiet);
  CHECK(i.args.positional("CONFIG") == "a.yaml");
  CHECK(i.args.rest("OVERRIDE") == Words{"seed=7", "model.layers=[1,2]"});
  CHECK(i.args.integer("--threads", 1, 64) == 4);
  CHECK(i.args.list("--tag") == Words{"x", "y"});
  CHECK(i.args.has("--new"));
  CHECK_FALSE(i.args.has("--resume"));
  CHECK(i.args.value("--resume") == std::nullopt);
  CHECK(i.args.value("--isa") == std::nullopt);
  CHECK(i.args.runs_dir == "runs");
  CHECK(read({"train", "a.yaml"}).args.value("--threads") == "2");
}

TEST_CASE("traps of the command line library are closed") {
  // A bare option with an optional value leaves the next word alone.
  const Invocation bare = read({"train", "--resume", "a.yaml"});
  CHECK(bare.args.value("--resume") == "auto");
  CHECK(bare.args.positional("CONFIG") == "a.yaml");
  CHECK(read({"train", "--resume=20240501", "a.yaml"}).args.value("--resume") == "20240501");
  // Brackets, commas, `++` and leading dashes after `--` are text.
  CHECK(read({"train", "a.yaml", "x=[1,2]", "y={a: [3, 4]}"}).args.rest("OVERRIDE") == Words{"x=[1,2]", "y={a: [3, 4]}"});
  CHECK(read({"train", "[1,2]"}).args.positional("CONFIG") == "[1,2]");
  CHECK(read({"train", "++"}).args.positional("CONFIG") == "++");
  CHECK(read({"train", "--", "--odd.yaml", "--new=1"}).args.positional("CONFIG") == "--odd.yaml");
  CHECK(read({"train", "a.yaml", "--tag", "[a,b]"}).args.list("--tag") == Words{"[a,b]"});
  CHECK(read({"train", "a.yaml", "--tag="}).args.list("--tag") == Words{""});
}

TEST_CASE("the runs folder: option before environment before default") {
  CHECK(read({"runs", "ls"}, "/env").args.runs_dir == "/env");
  CHECK(read({"--runs-dir", "here", "runs", "ls"}, "/env").args.runs_dir == "here");
  CHECK(read({"runs", "ls", "--runs-dir=here"}).args.runs_dir == "here");
}

TEST_CASE("usage errors name the argument and what is nearest") {
  CHECK(refusal({}) == "which command? `lockstep --help` lists them");
  CHECK(refusal({"trian", "a.yaml"}) ==
        "unknown command 'trian'; did you mean 'train'? `lockstep --help` lists the commands");
  CHECK(refusal({"runs"}) == "'runs' needs one more word: runs ls, runs show");
  CHECK(refusal({"runs", "sohw"}) == "unknown command 'runs sohw'; did you mean 'show'? runs has: ls, show");
  CHECK(refusal({"train", "a.yaml", "--thread", "4"}) ==
        "unknown option '--thread' of 'train'; did you mean '--threads'? `lockstep train --help` lists them");
  CHECK(refusal({"train", "a.yaml", "-x"}) == "unknown option '-x' of 'train'. `lockstep train --help` lists them");
  CHECK(refusal({"--jsn", "train"}) == "unknown option '--jsn'; did you mean '--json'?");
  CHECK(refusal({"train", "a.yaml", "--threads"}) == "--threads needs a value: --threads N");
  CHECK(refusal({"train", "a.yaml", "--threads=1", "--threads=2"}) ==
        "--threads was given 2 times (1, 2); give it once");
  CHECK(refusal({"train", "a.yaml", "--isa", "avx"}) ==
        "--isa does not take 'avx': it is one of scalar, avx2, avx512; did you mean 'avx2'?");
  CHECK(refusal({"train", "a.yaml", "--new=3"}) == "--new takes no value, but '3' was given");
  CHECK(refusal({"train"}) ==
        "CONFIG is missing: lockstep train CONFIG [OVERRIDE...] [OPTIONS]\n  CONFIG: the YAML file");
  CHECK(refusal({"train", "a.yaml", "b.yaml"}) ==
        "'b.yaml' is no override: after CONFIG come arguments of the form path=value (or path+=item), such as seed=7");
  CHECK(refusal({"runs", "ls", "x"}) == "'x' is one argument too many: lockstep runs ls [OPTIONS]");
  const Invocation i = read({"train", "a.yaml", "--threads", "many"});
  CHECK_THROWS_WITH_AS(static_cast<void>(i.args.integer("--threads", 1, 64)),
                       "--threads does not take 'many': it is an integer from 1 to 64", Error);
  CHECK_THROWS_AS(static_cast<void>(i.args.has("--undeclared")), Error);
}

TEST_CASE("results, remarks and failures go where they belong") {
  CHECK(outcome({"train", "a.yaml"}) == "0|done\n|working\n");
  CHECK(outcome({"train", "a.yaml", "-q"}) == "0|done\n|");
  CHECK(outcome({"train", "a.yaml", "--json", "--threads=3"}) == "0|{\n  \"threads\": 3\n}\n|working\n");
  CHECK(outcome({"train", "code.yaml", "-q"}) == "130|done\n|");
  CHECK(outcome({"train", "data.yaml"}) == "3||error: no such data\n");
  CHECK(outcome({"train", "data.yaml", "--json"}) ==
        "3|{\n  \"error\": {\n    \"category\": \"data\",\n    \"exit_code\": 3,\n    \"message\": \"no such data\",\n"
        "    \"frames\": []\n  }\n}\n|error: no such data\n");
  CHECK(outcome({"train", "diagnosed.yaml"}) == "2||x.yaml:1:2: error: unknown key 'a'\n1 error\n");
  CHECK(outcome({"train", "bug.yaml"}) ==
        "1||error: vector::_M_range_check\nthis is a bug in lockstep: please report it with the command, the config and "
        "this message\n");
  CHECK(outcome({"train", "big.yaml"}) ==
        "5||error: out of memory. Use a smaller batch, or free memory and resume the run\n");
  CHECK(outcome({"nothing"}).starts_with("2||error: unknown command 'nothing'"));
  CHECK(outcome({"--version"}) == "0|" + version_text() + "|");
  CHECK(outcome({"train", "--version"}) == "0|" + version_text() + "|");
}

TEST_CASE("a full disk behind stdout is a failure") {
  std::FILE* full = std::fopen("/dev/full", "w");
  REQUIRE(full != nullptr);
  char* err = nullptr;
  std::size_t size = 0;
  std::FILE* err_file = ::open_memstream(&err, &size);
  {
    Console console(full, err_file);
    const Words words = {"--help"};
    CHECK(run_cli(words, kCommands, console, [] {}) == 5);
  }
  std::fclose(err_file);
  CHECK(std::string(err) == "error: cannot write to the standard output: No space left on device; what was printed is "
                            "incomplete\n");
  std::free(err);
  std::fclose(full);
}

TEST_CASE("help of a command has its options, the rules of overrides and an example") {
  CHECK(read({"train", "--help"}).text ==
        "Train a model\n"
        "\n"
        "Usage: lockstep train CONFIG [OVERRIDE...] [OPTIONS]\n"
        "\n"
        "More about it.\n"
        "\n"
        "Arguments:\n"
        "  CONFIG    the YAML file\n"
        "  OVERRIDE  path=value\n"
        "\n"
        "Options:\n"
        "  --resume[=RUN]  continue a run (without a value: auto)\n"
        "  --threads N     worker threads (default: 2)\n"
        "  --isa ISA       force one (scalar, avx2, avx512)\n"
        "  --tag WORD      a label\n"
        "  -n, --new       a new run\n"
        "\n"
        "Options of every command:\n"
        "  --json          print one JSON document on stdout, everything else on stderr\n"
        "  --runs-dir DIR  the folder that holds the runs (default: LOCKSTEP_RUNS, else runs)\n"
        "  -q, --quiet     no progress and no remarks\n"
        "  -h, --help      explain the command\n"
        "  --version       print the version\n"
        "\n"
        "Overrides:\n"
        "  path=value   replaces a value of the config: seed=7, train.epochs=1, model.layers.0.out_features=64\n"
        "  path+=item   appends to a list: metrics+=top_k\n"
        "  path=@file   puts the content of a YAML file there: model=@models/small.yaml\n"
        "  The value is read as YAML; quote it from the shell when it holds blanks or brackets.\n"
        "\n"
        "Example:\n"
        "  lockstep train a.yaml seed=7\n");
  CHECK(read({"help", "train"}).text == read({"train", "a.yaml", "-h"}).text);
}

TEST_CASE("help lists the commands, and those of a group") {
  const std::string all = read({"--help"}).text;
  CHECK(all.find("Usage: lockstep COMMAND [ARGUMENTS] [OPTIONS]\n\nCommands:\n  runs ls    List runs\n"
                 "  runs show  Show a run\n  train      Train a model\n") != std::string::npos);
  const std::string group = read({"runs", "--help"}).text;
  CHECK(group.starts_with("Usage: lockstep runs COMMAND [ARGUMENTS] [OPTIONS]\n\nCommands:\n  runs ls    List runs\n"));
  CHECK(group.find("train") == std::string::npos);
}

TEST_CASE("completion scripts know commands and options") {
  for (const char* shell : {"bash", "zsh"}) {
    const std::string script = completion_script(kCommands, shell);
    CHECK(script.find("\"\") words=\"runs train\"") != std::string::npos);
    CHECK(script.find("\"runs\") words=\"ls show\"") != std::string::npos);
    CHECK(script.find("--resume") != std::string::npos);
  }
}

TEST_CASE("what is out of memory or refused by the system is no bug of lockstep") {
  CHECK(outcome({"train", "length.yaml"}).starts_with("5||error: out of memory. "));
  CHECK(outcome({"train", "threads.yaml"}) ==
        "5||error: the system refused: Resource temporarily unavailable; free memory, or raise the limits that `ulimit -a` shows\n");
  CHECK(outcome({"train", "loop.yaml"}) == "3||error: the system refused: Too many levels of symbolic links\n");
}

TEST_CASE("control characters and broken UTF-8 reach neither a terminal nor a JSON document") {
  CHECK(outcome({"train", "rude.yaml"}) == "0|d\\x1b[0m\n|warning: a\\x1b[31mb\nc\\xff\n");
  CHECK(outcome({"train", "rude.yaml", "--json"}) ==
        "0|{\n  \"text\": \"e\ufffd\\u001b\"\n}\n|warning: a\\x1b[31mb\nc\\xff\n");
  const std::string refused = outcome({"tr\x1b\xff", "--json"});
  CHECK(refused.find("\"message\": \"unknown command 'tr\\\\x1b\ufffd'") != std::string::npos);
  CHECK(refused.find("|error: unknown command 'tr\\x1b\\xff'") != std::string::npos);
}

TEST_CASE("help and version are documents with --json") {
  const std::string out = outcome({"train", "--help", "--json"});
  CHECK(out.starts_with("0|{\n  \"help\": \"Train a model\\n\\nUsage: lockstep train CONFIG"));
  CHECK(outcome({"--version", "--json"}).starts_with("0|{\n  \"lockstep\": "));
}
