// The .npy writer: its bytes are what numpy.save would read, and a failure leaves nothing behind.
#include <csignal>
#include <cstdio>

#include <sys/resource.h>

#include "fixtures.hpp"
#include "inputs/npy.hpp"
#include "support/catch.hpp"

using namespace attnscale;
using namespace attnscale::test;

namespace {

QueryTensor counting(const Extents& extents, const Padding& padding) {
  QueryTensor tensor(extents, padding);
  float value = 0;
  for (std::int64_t b = 0; b < extents.batch; ++b) {
    for (std::int64_t h = 0; h < extents.heads; ++h) {
      for (std::int64_t r = 0; r < extents.rows; ++r) {
        float* row = tensor.view().matrix(BatchIndex{b}, HeadIndex{h}).row(r);
        for (std::int64_t c = 0; c < extents.width; ++c) row[c] = value++;
      }
    }
  }
  return tensor;
}

std::size_t files_in(const Folder& folder) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder.file("")), {}));
}

template <class Act>
std::string write_failure(const Act& act) {
  try {
    act();
  } catch (const WriteError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("npy: the written bytes") {
  const Folder folder;
  const std::string path = folder.file("o.npy");
  const QueryTensor tensor = counting({1, 2, 3, 4}, {});
  write_npy(path, tensor.view(), false);
  std::vector<float> values(24);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  // 10 bytes, then the text padded with spaces and ended by a line feed, together 128.
  std::string text = "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2, 3, 4), }";
  text += std::string(128 - 10 - 1 - text.size(), ' ') + "\n";
  CHECK(slurp(path) == npy_preamble(1, text) + raw_bytes(values));
  CHECK(files_in(folder) == 1);
}

TEST_CASE("npy: written and read again, with padding and odd sizes") {
  const Folder folder;
  const std::string path = folder.file("o.npy");
  for (const Extents& extents :
       {Extents{1, 1, 1, 1}, Extents{2, 3, 17, 5}, Extents{3, 1, 65, 7}, Extents{1, 100000, 1, 1}}) {
    const QueryTensor tensor = counting(extents, {3, 1, -1});
    write_npy(path, tensor.view(), false);
    const NpyHeader header = read_npy_header(path);
    CHECK(header.shape == std::vector<std::int64_t>{extents.batch, extents.heads, extents.rows, extents.width});
    CHECK(header.data_offset % 64 == 0);
    const std::vector<float> values = read_npy(path, header);
    REQUIRE(values.size() == static_cast<std::size_t>(extents.batch * extents.heads * extents.rows * extents.width));
    for (std::size_t i = 0; i < values.size(); ++i) REQUIRE(values[i] == static_cast<float>(i));
  }
}

TEST_CASE("npy: a log-sum-exp is written without its width of 1") {
  const Folder folder;
  const std::string path = folder.file("o.lse.npy");
  const QueryTensor tensor = counting({2, 3, 5, 1}, {});
  write_npy(path, tensor.view(), true);
  CHECK(read_npy_header(path).shape == std::vector<std::int64_t>{2, 3, 5});
}

TEST_CASE("npy: a failed write is a WriteError and leaves nothing") {
  const Folder folder;
  const QueryTensor tensor = counting({1, 4, 256, 64}, {});
  const auto fails = [&](const std::string& path) {
    const std::string sentence = write_failure([&] { write_npy(path, tensor.view(), false); });
    INFO(sentence);
    CHECK(is_one_sentence(sentence));
    CHECK(contains(sentence, "o.npy"));
  };
  fails(folder.file("no/such/folder/o.npy"));
  CHECK(files_in(folder) == 0);
  std::filesystem::create_directory(folder.file("o.npy"));
  fails(folder.file("o.npy"));
  CHECK(files_in(folder) == 1);
  std::filesystem::remove(folder.file("o.npy"));

  // A limit on the size of files stands for a full disk: the write comes back short.
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  folder.put("o.npy", "old");
  const rlimit small{100000, before.rlim_max};
  REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
  fails(folder.file("o.npy"));
  REQUIRE(setrlimit(RLIMIT_FSIZE, &before) == 0);
  std::signal(SIGXFSZ, handler);
  CHECK(files_in(folder) == 1);
  CHECK(slurp(folder.file("o.npy")) == "old");
}
