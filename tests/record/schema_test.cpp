// docs/schema.md is made from fields.def, and the committed page is that text.
#include "record/schema.hpp"

#include "record/files.hpp"
#include "record/support.hpp"

using namespace attnscale;
using namespace attnscale::test;

TEST_CASE("docs/schema.md is up to date") {
  INFO("make it anew: attnscale list fields > docs/schema.md");
  const std::filesystem::path page = std::filesystem::path(ATTNSCALE_SOURCE_DIR) / "docs" / "schema.md";
  CHECK(read_file(page) == schema_markdown());
}

TEST_CASE("the page names every field of every file") {
  const std::string page = schema_markdown();
  const auto check = [&](std::span<const FieldInfo> fields) {
    for (const FieldInfo& field : fields) {
      INFO(field.name);
      CHECK(contains(page, "\n| `" + std::string(field.name) + "` | " + name_of(field.type) + " | "));
    }
  };
  check(fields_of<Record>());
  check(fields_of<SampleRow>());
  check(fields_of<StageRow>());
  check(fields_of<FitRow>());
  CHECK(contains(page, "schema version 1\n"));
}
