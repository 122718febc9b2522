// Numbers as a person reads them: three significant digits and a unit. Files hold base units; only display scales.
#pragma once

#include <string>

namespace attnscale {

std::string scaled_time(double ns);      ///< "1.23 ms"
std::string scaled_bytes(double bytes);  ///< "1.50 MiB"
std::string scaled_count(double count);  ///< "16.8 M"; whole numbers below 1000 as they are

}  // namespace attnscale
