// lockstep completion: tab completion for a shell.
#include "cli/command.h"
#include "cli/help.h"
#include "lockstep/base/error.h"
#include "lockstep/base/text.h"

namespace lockstep {
namespace {

constexpr PositionalDef kPositionals[] = {{"SHELL", "bash or zsh"}};

int run(const Args& args, Console& console) {
  const std::string shell = args.positional("SHELL");
  if (shell != "bash" && shell != "zsh") {
    failf(Category::usage, "there is no completion for {}: it is bash or zsh", quote(shell));
  }
  const std::string script = completion_script(builtin_commands(), shell);
  console.result(script, Json::object().set("shell", shell).set("script", script));
  return 0;
}

}  // namespace

extern constinit const CommandDef command_completion = {
    .name = "completion",
    .doc = "Print a script that completes commands and options in bash or zsh",
    .positionals = kPositionals,
    .example = "eval \"$(lockstep completion bash)\"",
    .run = run,
};

}  // namespace lockstep
