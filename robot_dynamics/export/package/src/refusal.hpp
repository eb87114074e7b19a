// A value that is refused, and numbers in its message.

#ifndef @package@_REFUSAL_HPP_
#define @package@_REFUSAL_HPP_

#include <cstdio>
#include <stdexcept>
#include <string>

namespace @package@
{

/// A value that is refused. The text is one line with the reason and the remedy.
struct Refusal : std::runtime_error
{
  using std::runtime_error::runtime_error;
};

/// Returns a number in a format of printf, by default with four digits.
inline std::string text(double x, const char * format = "%.4g")
{
  char digits[32];
  std::snprintf(digits, sizeof(digits), format, x);
  return digits;
}

}  // namespace @package@

#endif  // @package@_REFUSAL_HPP_
