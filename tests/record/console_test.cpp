// The table that ends a run.
#include "record/console.hpp"

#include "core/ranges.hpp"
#include "record/support.hpp"

using namespace attnscale;
using namespace attnscale::test;

namespace {

Record row_of(const std::string& method, std::int64_t n) {
  Record row;
  row.method = method;
  row.queries = n;
  row.keys = n;
  row.status = "ok";
  row.time_ns_median = 1.234e6;
  row.time_ns_mad = 1.234e4;
  row.ratio_to_exact = 0.1234;
  row.visible_pairs = 2547712;
  row.workspace_bytes_counted = 65536;
  row.rel_fro = 0.98765;
  row.mass_recall_mean = 0.5;
  return row;
}

}  // namespace

TEST_CASE("the table is aligned and scaled") {
  Record refused;
  refused.method = "window2d:r=1,height=auto,width=auto";
  refused.queries = 1;
  refused.keys = 4096;
  refused.status = "unsupported";
  refused.reason = "queries\nand keys differ";
  const std::vector<Record> rows = {row_of("exact.streaming", 512), refused};
  CHECK(
      table_text(rows) ==
      "method                                    n     time     +-  ratio   pairs  workspace  rel_fro   mass  status\n"
      "exact.streaming                         512  1.23 ms  1.0 %  0.123  2.55 M   64.0 KiB    0.988  0.500  ok\n"
      "window2d:r=1,height=auto,width=auto  1x4096        -      -      -       -          -        -      -  "
      "unsupported: "
      "queries and keys differ\n");
}

TEST_CASE("columns that tell rows apart appear when they differ") {
  std::vector<Record> rows = {row_of("window:w=16", 512), row_of("window:w=16", 512)};
  CHECK_FALSE(contains(table_text(rows), "input"));
  rows[0].input = "gaussian";
  rows[1].input = "needle";
  rows[0].seed = 0;
  rows[1].seed = 1;
  const std::string table = table_text(rows);
  CHECK(contains(table, "input"));
  CHECK(contains(table, "needle"));
  CHECK(contains(table, "seed"));
  CHECK_FALSE(contains(table, "threads"));
}

TEST_CASE("colour marks what is not ok, and only when asked for") {
  std::vector<Record> rows = {row_of("a", 1), row_of("b", 2), row_of("c", 3)};
  rows[1].status = "incorrect";
  rows[2].status = "over_budget";
  rows[2].reason = std::string(500, 'x') + "\033[31m";
  CHECK_FALSE(contains(table_text(rows), "\033"));
  const std::string coloured = table_text(rows, {.colour = true});
  const auto lines = split(coloured, '\n');
  CHECK_FALSE(contains(lines[1], "\033"));
  CHECK(lines[2].rfind("\033[31m", 0) == 0);
  CHECK(lines[3].rfind("\033[33m", 0) == 0);
  CHECK(contains(lines[3], std::string(60, 'x') + "..."));
  CHECK_FALSE(contains(lines[3], std::string(61, 'x')));
  CHECK(table_text({}) == "no rows\n");
}
