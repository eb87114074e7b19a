// Comparison of a robot_description with the robot that the package was exported for.

#ifndef @package@_MODEL_CHECK_HPP_
#define @package@_MODEL_CHECK_HPP_

#include <string>

namespace @package@
{

/// Return the first difference that matters for efforts, on one line; empty if there is none.
///
/// @param description  text of a URDF
std::string first_difference(const std::string & description);

}  // namespace @package@

#endif  // @package@_MODEL_CHECK_HPP_
