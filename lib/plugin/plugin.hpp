// Plugins: shared libraries that add methods to the catalogue through the C interface of attnscale_plugin.h. They run
// inside this program, so what they return is checked, but a crash of theirs is ours too.
#pragma once

#include <deque>
#include <string>
#include <vector>

namespace attnscale {

struct Plugin {
  std::string path;                  ///< canonical
  std::string file;                  ///< its base name, which stands for it in records
  std::string library;               ///< what the plugin says runs inside; may be empty
  std::vector<std::string> methods;  ///< the names that it added to the catalogue
};

/// Loads a plugin and adds its methods; one that is loaded already is left as it is. It stays until the program ends.
/// Call it before anything runs, from one thread. Throws InputError, in one sentence, for what is no plugin of this
/// interface.
const Plugin& load_plugin(const std::string& path);

/// In the order in which they were loaded.
const std::deque<Plugin>& loaded_plugins();

}  // namespace attnscale
