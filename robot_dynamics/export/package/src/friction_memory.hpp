// Friction that remembers the way of a motion. As controller_core.hpp, without ROS and clock.

#ifndef @package@_FRICTION_MEMORY_HPP_
#define @package@_FRICTION_MEMORY_HPP_

#include <array>

#include "robot.hpp"

namespace @package@
{

/// States of the elements of friction along a motion.
class FrictionMemory
{
public:
  /// A position that changes by more than `jump`, rad or m, belongs to another motion.
  explicit FrictionMemory(double jump) : jump_(jump) {}

  /// Forget the way: the next position begins another motion.
  void forget();

  /// Move on to positions. A step against the velocities is no motion: late references jump to and
  /// fro.
  void follow(const Vector & q, const Vector & qd = {});

  /// Go on from other positions: no way leads there.
  void leave() { has_last_ = false; }

  /// Move on by a way, of a motion without positions.
  void move(const Vector & way);

  /// Returns the direction of friction of every joint, -1 to 1; zero where a motion begins.
  const Vector & direction() const { return direction_; }

private:
  void advance(const Vector & way);

  double jump_;
  bool has_last_ = false;
  Vector last_{};
  std::array<double, ELEMENTS * N> z_{};
  Vector direction_{};
};

}  // namespace @package@

#endif  // @package@_FRICTION_MEMORY_HPP_
