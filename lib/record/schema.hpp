// The documentation of the files, made from fields.def: docs/schema.md and `attnscale list fields`.
#pragma once

#include <string>

namespace attnscale {

/// The whole text of docs/schema.md.
std::string schema_markdown();

}  // namespace attnscale
