#include "base_estimate.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "refusal.hpp"
#include "rotation.hpp"

namespace @package@
{
namespace
{

Three cross(const Three & a, const Three & b)
{
  return {
    {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]}};
}

double norm(const Three & a) { return std::sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]); }

template <typename Values>
void filter(Values & values, const Values & measured, double share)
{
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] += share * (measured[i] - values[i]);
  }
}

}  // namespace

Base standing(const Three & gravity) { return {{gravity[0], gravity[1], gravity[2]}}; }

BaseFilter::BaseFilter(const Three & gravity, double time_constant, double timeout)
: world_(gravity), time_constant_(time_constant), timeout_(timeout)
{
}

double BaseFilter::share(double time_constant) const
{
  return passed_ > 0.0 ? 1.0 - std::exp(-passed_ / time_constant) : 1.0;
}

void BaseFilter::take(const Six & measured, double stamp)
{
  for (std::size_t i = 0; i < 6; ++i) {
    if (!(std::abs(measured[i]) <= BASE_LARGEST_TWIST[i])) {  // NaN is not
      throw Refusal(
        "a velocity is not finite, or above " + text(BASE_LARGEST_TWIST[0]) + " m/s, " +
        text(BASE_LARGEST_TWIST[5]) + " rad/s");
    }
  }
  const double passed = stamp - stamp_;
  if (-timeout_ < passed && passed <= 0.0) {
    throw Refusal("the stamp is not after that of the message before");
  }
  passed_ = passed > 0.0 && passed <= timeout_ ? passed : 0.0;
  Six velocity = measured;
  Six rate{};
  if (passed_ > 0.0) {
    velocity = velocity_;
    filter(velocity, measured, share(time_constant_));
    for (std::size_t i = 0; i < 6; ++i) {
      rate[i] = (velocity[i] - velocity_[i]) / passed_;
      if (std::abs(rate[i]) > BASE_LARGEST_RATE[i]) {
        throw Refusal("a velocity jumps");
      }
    }
  }
  stamp_ = stamp;
  velocity_ = velocity;
  rate_ = rate;
}

const BaseMotion & BaseFilter::imu(
  const Three & force, const Three & angular, const Three & place, double stamp)
{
  const double size = norm(force);
  if (!(BASE_FORCE[0] <= size && size <= BASE_FORCE[1])) {  // NaN is not
    throw Refusal(
      "linear_acceleration of " + text(size, "%.3g") + " m/s^2 is not within " +
      text(BASE_FORCE[0]) + " to " + text(BASE_FORCE[1]));
  }
  take({{0.0, 0.0, 0.0, angular[0], angular[1], angular[2]}}, stamp);
  filter(force_, force, share(time_constant_));
  const Three w = {{velocity_[3], velocity_[4], velocity_[5]}};
  const Three wd = {{rate_[3], rate_[4], rate_[5]}};
  const Three turning = cross(wd, place);
  const Three centripetal = cross(w, cross(w, place));
  Three felt;  // gravity less the acceleration of the root link
  for (std::size_t i = 0; i < 3; ++i) {
    felt[i] = turning[i] + centripetal[i] - force_[i];
  }
  filter(steady_, felt, share(BASE_STEADY));
  const double length = norm(steady_);
  Three gravity = steady_;
  for (double & x : gravity) {
    x *= norm(world_) / (length > 0.0 ? length : 1.0);
  }
  motion_.still = standing(gravity);
  motion_.moving = standing(felt);
  std::copy(w.begin(), w.end(), motion_.moving.begin() + 6);
  std::copy(wd.begin(), wd.end(), motion_.moving.begin() + 12);
  return motion_;
}

const BaseMotion & BaseFilter::odometry(
  const std::array<double, 4> & orientation, const Six & twist, double stamp)
{
  const auto & o = orientation;
  const double size = std::sqrt(o[0] * o[0] + o[1] * o[1] + o[2] * o[2] + o[3] * o[3]);
  if (!(0.9 < size && size < 1.1)) {
    throw Refusal("orientation is a quaternion of length " + text(size, "%.3g") + ", not 1");
  }
  take(twist, stamp);
  const std::array<double, 9> rotation = rotation_of(o, size);
  Three gravity{};
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t k = 0; k < 3; ++k) {
      gravity[i] += rotation[3 * k + i] * world_[k];
    }
  }
  motion_.still = motion_.moving = standing(gravity);
  std::copy(velocity_.begin(), velocity_.end(), motion_.moving.begin() + 3);
  std::copy(rate_.begin(), rate_.end(), motion_.moving.begin() + 9);
  return motion_;
}

void BaseEstimate::take(const BaseMotion & motion, double now)
{
  motion_ = motion;
  at_ = now;
}

Base BaseEstimate::at(const Base & given, double timeout, double now)
{
  const bool begins = asked_ == -UNLIMITED && at_ > -UNLIMITED;  // without a motion before
  const double step = std::max(now - asked_, 0.0) / BASE_FADE;
  asked_ = now;
  const double goal = stale(timeout, now) ? 0.0 : 1.0;
  share_ = std::min(std::max(goal, share_ - step), share_ + step);
  followed_ = followed_ || begins || share_ == 1.0;
  Base base = still(given);
  filter(base, motion_.moving, share_);
  return base;
}

}  // namespace @package@
