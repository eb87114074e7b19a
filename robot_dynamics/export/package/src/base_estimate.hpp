// Motion of the base by its measurements: an IMU or an odometry, filtered, with a timeout.

#ifndef @package@_BASE_ESTIMATE_HPP_
#define @package@_BASE_ESTIMATE_HPP_

#include <array>
#include <limits>

#include "hand.hpp"
#include "robot.hpp"

namespace @package@
{

using Three = std::array<double, 3>;

/// Gravity, twist and acceleration of the root link in its axes, linear before angular.
using Base = std::array<double, 15>;

/// A base that stands under gravity in root axes.
Base standing(const Three & gravity);

/// Motion by the latest measurement.
struct BaseMotion
{
  Base still{};   // of a base that stands, under gravity in the last known direction
  Base moving{};  // as measured
};

/// Makes the motion of measurements. Accelerations are derivatives of velocities behind a low-pass.
class BaseFilter
{
public:
  /// Gravity in the world, m/s^2; time constant of the low-pass and age at which a measurement
  /// counts no more, s.
  BaseFilter(const Three & gravity, double time_constant, double timeout);

  /// Take a measurement of an IMU: acceleration less gravity, m/s^2, and angular velocity in root
  /// axes; position of the IMU in the root link; time of the measurement, s. Throws Refusal.
  const BaseMotion & imu(
    const Three & force, const Three & angular, const Three & place, double stamp);

  /// Take a measurement of an odometry: unit quaternion x, y, z, w of the root link in the world,
  /// and its twist in its axes. Throws Refusal.
  const BaseMotion & odometry(
    const std::array<double, 4> & orientation, const Six & twist, double stamp);

private:
  void take(const Six & measured, double stamp);
  double share(double time_constant) const;

  Three world_;
  double time_constant_;
  double timeout_;
  Three force_{};
  Three steady_{};
  Six velocity_{};
  Six rate_{};
  double stamp_ = -std::numeric_limits<double>::infinity();
  double passed_ = 0.0;  // since the measurement before, s; 0 where the filters begin anew
  BaseMotion motion_;
};

/// The motion of now: it fades from a base that stands to one that moves as measured, and back.
class BaseEstimate
{
public:
  /// Take the motion by a measurement that arrived at a time.
  void take(const BaseMotion & motion, double now);

  /// Return a base that stands: under gravity in the last known direction, or as it is given until
  /// measurements have been followed.
  const Base & still(const Base & given) const { return followed_ ? motion_.still : given; }

  /// Return whether the last measurement is too old.
  bool stale(double timeout, double now) const { return now - at_ > timeout; }

  /// Return the motion at a time, which does not decrease from call to call; see `still`.
  Base at(const Base & given, double timeout, double now);

private:
  BaseMotion motion_;
  double at_ = -UNLIMITED;
  double asked_ = -UNLIMITED;
  double share_ = 0.0;  // of the motion, the rest being of a base that stands
  bool followed_ = false;  // wholly, for a moment
};

}  // namespace @package@

#endif  // @package@_BASE_ESTIMATE_HPP_
