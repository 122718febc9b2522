// Bad input: one sentence with the nearest valid name, exit code 2, nothing half-written.
#include <algorithm>

#include <linux/capability.h>
#include <sys/prctl.h>

#include "cli/program.hpp"
#include "support/catch.hpp"

namespace attnscale::test {
namespace {

using Words = std::vector<std::string>;

// A .npy file of fp32 zeros, version 1, with whatever header it is told.
std::string npy(const std::string& shape, std::size_t values, const std::string& descr = "<f4") {
  std::string header = "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }";
  header.resize((header.size() + 10 + 1 + 63) / 64 * 64 - 11, ' ');
  header += '\n';
  std::string file = "\x93NUMPY\x01";
  file += '\0';
  file += static_cast<char>(header.size() % 256);
  file += static_cast<char>(header.size() / 256);
  return file + header + std::string(4 * values, '\0');
}

void write_set(const Workplace& here, const std::string& name, const std::string& q, const std::string& k,
               const std::string& v) {
  here.write(name + ".q.npy", q);
  here.write(name + ".k.npy", k);
  here.write(name + ".v.npy", v);
}

void check_refused(const Workplace& here, const Words& arguments, const std::string& says,
                   const std::function<void()>& in_child = {}) {
  const Words before = here.contents();
  const Result result = here.run(arguments, in_child);
  std::string command = "attnscale";
  for (const std::string& word : arguments) command += " " + word;
  INFO(command);
  INFO(result.err);
  CHECK(result.code == 2);
  CHECK(result.out.empty());
  CHECK(result.err.find(says) != std::string::npos);
  CHECK(result.err.starts_with("attnscale: "));
  CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
  CHECK(here.contents() == before);
}

}  // namespace

TEST_CASE("unknown names are refused with the nearest one") {
  const Workplace here;
  check_refused(here, {"rnu"}, "did you mean 'run'");
  check_refused(here, {}, "list, run");
  check_refused(here, {"run", "--methds", "topk"}, "did you mean '--methods'");
  check_refused(here, {"list", "methds"}, "did you mean 'methods'");
  check_refused(here, {"run", "--methods", "windw", "--n", "8"}, "did you mean 'window'");
  check_refused(here, {"run", "--methods", "window:width=3", "--n", "8"}, "parameter of window");
  check_refused(here, {"run", "--n", "8", "--input", "gausian"}, "did you mean 'gaussian'");
  check_refused(here, {"run", "--n", "8", "--format", "cvs"}, "did you mean 'csv'");
  check_refused(here, {"run", "--n", "8", "--color", "allways"}, "did you mean 'always'");
  check_refused(here, {"run", "--n", "8", "--simd", "avx3"}, "SIMD target");
  check_refused(here, {"run", "--n", "8", "--cache", "cool"}, "did you mean 'cold'");
  check_refused(here, {"doctor", "--simd", "avx3"}, "SIMD target");
  check_refused(here, {"doctor", "--jsn"}, "did you mean '--json'");
  here.write("mine.toml", "[[run]]\nmethds = 'topk'\n");
  check_refused(here, {"run", "mine.toml"}, "did you mean 'methods'");
  check_refused(here, {"run", "mine2.toml"}, "study");
}

TEST_CASE("an unknown study is refused with the nearest one") {
  const Workplace here;
  std::filesystem::create_directory(here / "studies");
  here.write("studies/quick.toml", "[[run]]\nn = 8\n");
  check_refused(here, {"run", "quik"}, "did you mean 'quick'");
}

TEST_CASE("bad parameters and sizes are refused with the nearest value") {
  const Workplace here;
  check_refused(here, {"run", "--methods", "window:w=-1", "--n", "8"}, "nearest valid value is 0");
  check_refused(here, {"run", "--methods", "topk:k=0", "--n", "8"}, "nearest valid value is 1");
  check_refused(here, {"run", "--methods", "bigbird:block=0", "--n", "8"}, "nearest valid value is 1");
  check_refused(here, {"run", "--n", "0"}, "nearest valid value is 1");
  check_refused(here, {"run", "--n", "-3"}, "nearest valid value is 1");
  check_refused(here, {"run", "--n", "2147483649"}, "nearest valid value is 2147483648");
  check_refused(here, {"run", "--n", "many"}, "not a whole number");
  check_refused(here, {"run", "--n", "8..4"}, "write 4..8x2");
  check_refused(here, {"run", "--n", "8..4x2"}, "write 4..8x2");
  check_refused(here, {"run", "--n"}, "--n");
  check_refused(here, {"run"}, "give n");
  check_refused(here, {"run", "--n", "8", "--dim", "0"}, "nearest valid value is 1");
  check_refused(here, {"run", "--n", "8", "--heads", "6", "--kv-heads", "4"}, "nearest valid kv-heads is 3");
  check_refused(here, {"run", "--methods", "window2d:height=8,width=8", "--n", "60,70"}, "nearest valid n is 64");
  check_refused(here, {"run", "--n", "8", "--max-time", "soon"}, "max-time");
  check_refused(here, {"run", "--n", "8", "--causal=perhaps"}, "causal");
  check_refused(here, {"run", "--n", "8", "--threads", "0"}, "threads");
  check_refused(here, {"run", "--n", "8", "--threads", "257"}, "nearest valid value is 256");
  check_refused(here, {"run", "--n", "8"}, "heads", with_variable("ATTNSCALE_HEADS", "none"));
}

TEST_CASE("faulty tensor files are refused with what is wrong") {
  const Workplace here;
  const std::string good = npy("(2, 10, 4)", 80);
  check_refused(here, {"run", "--input", "npy:none"}, "does not exist");
  write_set(here, "cut", good.substr(0, good.size() - 4), good, good);
  check_refused(here, {"run", "--input", "npy:cut"}, "cut.q.npy");
  write_set(here, "magic", good, "NOTNUMPY" + good, good);
  check_refused(here, {"run", "--input", "npy:magic"}, "magic.k.npy");
  write_set(here, "liar", good, good, npy("(2, 1000000, 4)", 80));
  check_refused(here, {"run", "--input", "npy:liar"}, "liar.v.npy");
  write_set(here, "apart", good, npy("(2, 11, 4)", 88), good);
  check_refused(here, {"run", "--input", "npy:apart"}, "apart");
  write_set(here, "kind", npy("(2, 10, 4)", 80, "<i4"), good, good);
  check_refused(here, {"run", "--input", "npy:kind"}, "kind.q.npy");
  write_set(here, "fine", good, good, good);
  check_refused(here, {"run", "--input", "npy:fine", "--n", "11"}, "nearest valid n is 10");
  check_refused(here, {"run", "--input", "npy:fine", "--heads", "3"}, "holds 2");
}

TEST_CASE("an output folder that cannot be used is refused, and nothing in it changes") {
  const Workplace here;
  const Words run = {"run", "--n", "8", "--rounds", "1", "--out"};
  const auto to = [&](const std::string& out) {
    Words words = run;
    words.push_back(out);
    return words;
  };
  std::filesystem::create_directory(here / "full");
  here.write("full/notes.txt", "mine");
  here.write("file", "mine");
  check_refused(here, to("full"), "--force");
  check_refused(here, to("file"), "is a file");
  Words forced = to("full");
  forced.push_back("--force");
  check_refused(here, forced, "full");  // not a run of ours
  std::filesystem::create_directory(here / "closed");
  std::filesystem::permissions(here / "closed",
                               std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
  check_refused(here, to("/proc/run"), "'/proc/run'");  // no permission missing, but no folder can be made there
  // Root may write anywhere, unless the process that starts has lost that privilege.
  check_refused(here, to("closed/run"), "closed", [] { prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE); });
}

TEST_CASE("a run that is missing or faulty is refused by what reads it") {
  const Workplace here;
  check_refused(here, {"fit", "none"}, "none");
  check_refused(here, {"plot", "none"}, "none");
  std::filesystem::create_directory(here / "bad");
  here.write("bad/summary.csv", "a,b\n1,2\n");
  check_refused(here, {"fit", "bad"}, "summary.csv");
}

}  // namespace attnscale::test
