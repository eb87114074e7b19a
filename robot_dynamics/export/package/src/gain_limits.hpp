// Gains beyond which a joint alone is unstable.

#ifndef @package@_GAIN_LIMITS_HPP_
#define @package@_GAIN_LIMITS_HPP_

namespace @package@
{

/// Velocity gain per inertia above which PD is unstable, 1/s.
///
/// Efforts are held from one state to the next and act late. By Nyquist's criterion.
///
/// @param ratio  position gain per velocity gain, 1/s
/// @param period  time from a state to the next, s
/// @param delay  time from a state to when the effort that answers it acts, s
double stability_limit(double ratio, double period, double delay);

}  // namespace @package@

#endif  // @package@_GAIN_LIMITS_HPP_
