// The rotation of a quaternion.

#ifndef @package@_ROTATION_HPP_
#define @package@_ROTATION_HPP_

#include <array>

namespace @package@
{

/// Return the rotation matrix, row by row, of a quaternion x, y, z, w of a given length.
inline std::array<double, 9> rotation_of(const std::array<double, 4> & quaternion, double length)
{
  const double x = quaternion[0] / length;
  const double y = quaternion[1] / length;
  const double z = quaternion[2] / length;
  const double w = quaternion[3] / length;
  return {
    {1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - z * w), 2.0 * (x * z + y * w),
     2.0 * (x * y + z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - x * w),
     2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y)}};
}

}  // namespace @package@

#endif  // @package@_ROTATION_HPP_
