// Tests of widths, numbers, tables and progress, with a stream in memory.
#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>
#include <limits>

#include "lockstep/term/progress.h"
#include "lockstep/term/table.h"
#include "lockstep/term/text_width.h"

using namespace lockstep;

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// What f makes a Progress print.
template <class F>
std::string printed(Terminal terminal, bool quiet, F&& f) {
  char* text = nullptr;
  std::size_t size = 0;
  std::FILE* stream = ::open_memstream(&text, &size);
  {
    Progress progress(stream, terminal, quiet);
    f(progress);
  }
  std::fclose(stream);
  std::string out(text, size);
  std::free(text);
  return out;
}

ProgressStep at(std::int64_t step) { return {step, 100, 1, 5, 0.5, 0.001, 51234}; }

}  // namespace

TEST_CASE("widths count columns, not bytes") {
  CHECK(text_width("abc") == 3);
  CHECK(text_width("größe") == 5);
  CHECK(text_width("日本") == 4);
  CHECK(text_width("e\xcc\x81") == 1);
  CHECK(text_width("\xff") == 1);
  CHECK(fit("größe", 5) == "größe");
  CHECK(fit("größer", 5) == "größ…");
  CHECK(fit("日本語", 4) == "日…");
  CHECK(fit("abc", 0) == "");
}

TEST_CASE("numbers as people read them") {
  CHECK(number_text(0.001) == "0.001");
  CHECK(number_text(0.87123456) == "0.87123");
  CHECK(number_text(kNan) == "nan");
  CHECK(number_text(-std::numeric_limits<double>::infinity()) == "-inf");
  CHECK(count_text(950) == "950");
  CHECK(count_text(12345) == "12.3k");
  CHECK(count_text(999600) == "1.00M");
  CHECK(count_text(kNan) == "-");
  CHECK(bytes_text(512) == "512 B");
  CHECK(bytes_text(1536) == "1.5 KiB");
  CHECK(bytes_text(3435973837) == "3.2 GiB");
  CHECK(duration_text(0.42) == "0.42s");
  CHECK(duration_text(12.34) == "12.3s");
  CHECK(duration_text(59.96) == "1m 00s");
  CHECK(duration_text(245) == "4m 05s");
  CHECK(duration_text(7620) == "2h 07m");
  CHECK(duration_text(3599.7) == "1h 00m");
  CHECK(duration_text(273600) == "3d 04h");
  CHECK(duration_text(kNan) == "-");
  CHECK(time_text(1714566896789000000) == "2024-05-01 12:34");
}

TEST_CASE("tables align columns and end without blanks") {
  Table table({{"name"}, {"steps", Align::right}, {"x"}});
  table.row({"größe", "7"});
  table.row({"日本", "1200", "y"});
  CHECK(table.text() ==
        "name   steps  x\n"
        "größe      7\n"
        "日本    1200  y\n");
  Table bare({{""}, {""}});
  bare.row({"a", "b"});
  CHECK(bare.text() == "a  b\n");
}

TEST_CASE("a step as text") {
  CHECK(step_text(at(20), 12.3) == "epoch 1/5  step 20/100  loss 0.5  lr 0.001  51.2k samples/s  eta 12.3s");
  CHECK(step_text({20, 0, 0, 0, kNan, 0.1, 0}, kNan) == "step 20  loss nan  lr 0.1");
  CHECK(bar_text(at(50), kNan, 200).starts_with("━━━━━━━━━━╌╌╌╌╌╌╌╌╌╌  epoch 1/5"));
  CHECK(bar_text(at(50), 12.3, 90).starts_with("━━━━━━━━━━╌╌╌╌╌╌╌╌╌╌  epoch 1/5  50/100  loss"));
  CHECK(bar_text(at(50), 12.3, 75) == "━━━━━╌╌╌╌╌  epoch 1/5  50/100  loss 0.5  lr 0.001  51.2k/s  eta 12.3s");
  CHECK(bar_text(at(50), 12.3, 60) == "epoch 1/5  50/100  loss 0.5  lr 0.001  51.2k/s  eta 12.3s");
  CHECK(bar_text(at(50), kNan, 30) == "epoch 1/5  50/100  loss 0.5  …");
}

TEST_CASE("plain output is one line for each logged step") {
  const std::string out = printed(Terminal{false, false, 80}, false, [](Progress& p) {
    CHECK(p.step_interval_ns() == 0);
    p.step(at(10), true, 1'000'000'000);
    p.step(at(11), false, 1'000'000'001);
    p.step(at(20), true, 2'000'000'000);
    p.evaluated(20, {{"val/accuracy", 0.8712}, {"val/loss", 0.36}});
    p.committed(20, true);
    p.committed(30, false);
    p.say("the checkpoint was damaged");
  });
  CHECK(out ==
        "epoch 1/5  step 10/100  loss 0.5  lr 0.001  51.2k samples/s\n"
        "epoch 1/5  step 20/100  loss 0.5  lr 0.001  51.2k samples/s  eta 8.00s\n"
        "eval  step 20  val/accuracy 0.8712  val/loss 0.36\n"
        "checkpoint  step 20  (best)\n"
        "checkpoint  step 30\n"
        "the checkpoint was damaged\n");
}

TEST_CASE("a terminal is redrawn at most ten times a second and left clean") {
  const std::string out = printed(Terminal{true, false, 40}, false, [](Progress& p) {
    CHECK(p.step_interval_ns() == 100'000'000);
    p.step(at(10), true, 1'000'000'000);
    p.step(at(11), true, 1'050'000'000);
    p.evaluated(11, {{"val/loss", 0.36}});
    p.committed(12, false);
  });
  CHECK(out ==
        "\r\x1b[Kepoch 1/5  10/100  loss 0.5  lr 0.001 …"
        "\r\x1b[Keval  step 11  val/loss 0.36\nepoch 1/5  10/100  loss 0.5  lr 0.001 …"
        "\r\x1b[K");
}

TEST_CASE("colour is used where it may be, and quiet means quiet") {
  CHECK(printed(Terminal{true, true, 80}, false, [](Progress& p) { p.evaluated(1, {}); }) ==
        "\x1b[32meval  step 1\x1b[0m\n");
  CHECK(printed(Terminal{false, false, 80}, true, [](Progress& p) {
          p.step(at(1), true, 1);
          p.evaluated(1, {});
          p.committed(1, true);
        }).empty());
}

TEST_CASE("a file is no terminal") {
  std::FILE* file = std::tmpfile();
  REQUIRE(file != nullptr);
  const Terminal terminal = inspect_terminal(file);
  CHECK_FALSE(terminal.interactive);
  CHECK_FALSE(terminal.colour);
  CHECK(terminal.width >= 20);
  std::fclose(file);
}

TEST_CASE("control characters of names and reasons do not reach the terminal") {
  CHECK(one_line("a\nb\tc\x1b[31m\n") == "a; b c\\x1b[31m");
  Table table({{""}, {""}});
  table.row({"a\x1b[2Jb", "x"});
  table.row({"c\nd", "y"});
  CHECK(table.text() ==
        "a\\x1b[2Jb  x\n"
        "c; d       y\n");
  const Terminal terminal{true, false, 80};
  CHECK(printed(terminal, false, [](Progress& p) { p.say("run \x1b]0;owned\x07 x"); }) == "run \\x1b]0;owned\\x07 x\n");
}

TEST_CASE("a bar never wraps") {
  for (int width = 20; width <= 120; ++width) {
    const ProgressStep step{123456789, 987654321, 1234, 5678, 1.2345e-5, 3.3333e-4, 123456};
    CHECK(text_width(bar_text(step, 123456, width)) <= width);
    const std::string drawn = printed({true, true, width}, false, [&](Progress& p) { p.step(step, true, 1'000'000'000); });
    CHECK(text_width(drawn.substr(drawn.find("\x1b[K") + 3, drawn.rfind('\r') - drawn.find("\x1b[K") - 3)) < width);
  }
}
