// From the table of a plugin to methods of the catalogue.
#pragma once

#include <string>

#include "plugin/attnscale_plugin.h"

namespace attnscale {

/// Checks the table and adds its methods. `origin` is the flag that brought the plugin in. Returns what the plugin says
/// runs inside. Throws InputError for a table that breaks the interface.
std::string add_methods(const attnscale_plugin* table, const std::string& origin);

}  // namespace attnscale
