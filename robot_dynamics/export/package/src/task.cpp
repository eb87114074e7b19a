#include "task.hpp"

#include <algorithm>
#include <cmath>

#include "kernels.hpp"

namespace @package@
{
namespace
{

constexpr double EVER = 1e300;

/// Returns the product of two rotations, or of the transpose of the first one.
std::array<double, 9> product(const std::array<double, 9> & a, const std::array<double, 9> & b)
{
  std::array<double, 9> c{};
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 3; ++j) {
      for (std::size_t k = 0; k < 3; ++k) {
        c[3 * i + j] += a[3 * i + k] * b[3 * k + j];
      }
    }
  }
  return c;
}

/// Returns both parts of six numbers in other axes: those of R as columns.
Six turned(const std::array<double, 9> & R, const Six & v, bool back = false)
{
  Six w{};
  for (std::size_t part = 0; part < 6; part += 3) {
    for (std::size_t i = 0; i < 3; ++i) {
      for (std::size_t k = 0; k < 3; ++k) {
        w[part + i] += (back ? R[3 * k + i] : R[3 * i + k]) * v[part + k];
      }
    }
  }
  return w;
}

Pose product(const Pose & a, const Pose & b)
{
  Pose c;
  c.rotation = product(a.rotation, b.rotation);
  for (std::size_t i = 0; i < 3; ++i) {
    c.position[i] = a.position[i];
    for (std::size_t k = 0; k < 3; ++k) {
      c.position[i] += a.rotation[3 * i + k] * b.position[k];
    }
  }
  return c;
}

}  // namespace

Pose frame_pose(const Vector & q, std::size_t frame)
{
  Pose pose;
  if (frame >= FRAMES.size()) {
    return pose;
  }
  std::array<double, 12 * FRAMES.size()> poses;
  kernels::frames(q.data(), poses.data());
  std::copy_n(&poses[12 * frame], 9, pose.rotation.begin());
  std::copy_n(&poses[12 * frame + 9], 3, pose.position.begin());
  return pose;
}

Six way_between(const Pose & from, const Pose & to)
{
  Six way{};
  kernels::way_between(
    from.rotation.data(), from.position.data(), to.rotation.data(), to.position.data(),
    way.data());
  return way;
}

bool any(const Six & values)
{
  return std::any_of(values.begin(), values.end(), [](double x) { return x != 0.0; });
}

bool operator==(const TaskSettings & a, const TaskSettings & b)
{
  return a.in_frame == b.in_frame && a.stiffness == b.stiffness && a.root == b.root &&
         a.damping == b.damping && a.mobility == b.mobility && a.largest == b.largest &&
         a.selection == b.selection && a.held == b.held && a.free_axis == b.free_axis &&
         a.numbers == b.numbers && a.returning == b.returning && a.feels == b.feels &&
         a.feedback == b.feedback && a.feel_timeout == b.feel_timeout && a.speed == b.speed &&
         a.acceleration == b.acceleration;
}

Vector wrench_effort(
  const TaskSettings & settings, const Pose & target, const Target & wrench, const Vector & q)
{
  const Six exerted = turned(frame_pose(q, wrench.frame).rotation, wrench.vector);
  const std::array<double, 9> axes = settings.in_frame ? target.rotation : Pose().rotation;
  Vector effort{};
  kernels::wrench_effort(
    q.data(), exerted.data(), axes.data(), settings.held.data(), effort.data());
  return effort;
}

bool presses(const TaskSettings & settings)
{
  for (std::size_t k = 0; k < 6; ++k) {
    if (settings.held[k] > settings.selection[k]) {
      return true;
    }
  }
  return false;
}

Six exerted_wrench(const Six & wrench, std::size_t frame)
{
  const Pose hand = frame_pose({}, HAND_FRAME);
  const Pose sensor = frame_pose({}, frame);
  Six felt = turned(sensor.rotation, wrench);
  for (std::size_t i = 0; i < 3; ++i) {
    const std::size_t j = (i + 1) % 3;
    const std::size_t k = (i + 2) % 3;
    felt[3 + i] += (sensor.position[j] - hand.position[j]) * felt[k] -
                   (sensor.position[k] - hand.position[k]) * felt[j];
  }
  felt = turned(hand.rotation, felt, true);
  for (double & x : felt) {
    x = -x;
  }
  return felt;
}

// -- motion of the target ------------------------------------------------------------------------

void TargetMotion::use(const TaskSettings & settings)
{
  most_ = speed_ = settings.speed;
  largest_ = settings.acceleration;
}

void TargetMotion::slow_down(double share)
{
  speed_ = most_;
  for (std::size_t k = 0; share < 1.0 && k < 2; ++k) {
    const double speed = std::hypot(twist_[3 * k], twist_[3 * k + 1], twist_[3 * k + 2]);
    if (speed > RESTING * most_[k]) {
      speed_[k] = std::min(most_[k], share * speed);
    }
  }
}

void TargetMotion::begin(const Pose & pose)
{
  const TargetMotion before = *this;
  *this = TargetMotion();
  most_ = before.most_;
  speed_ = before.speed_;
  largest_ = before.largest_;
  pose_ = goal_ = pose;
}

void TargetMotion::aim(const Pose & pose, double now)
{
  follows_ = true;
  flow_ = {};
  const double passed = now - given_at_;
  if (has_given_ && passed > 0.0 && passed < TARGET_STREAM) {
    flow_ = way_between(given_, pose);
    for (double & x : flow_) {
      x /= passed;
    }
    lasts_ = TARGET_LATE * passed;
  }
  goal_ = given_ = pose;
  given_at_ = now;
  has_given_ = true;
  arrived_ = rests_ = false;
}

void TargetMotion::drive(const Six & twist)
{
  asked_ = twist;
  has_given_ = follows_ = rests_ = false;
}

void TargetMotion::rest()
{
  asked_ = {};
  follows_ = false;
}

void TargetMotion::step(double dt)
{
  dt = std::min(dt, TARGET_LONGEST_STEP);
  if (rests_ || dt <= 0.0) {
    return;
  }
  if (follows_ && any(flow_)) {
    lasts_ -= dt;
    if (lasts_ <= 0.0 && has_given_) {  // the stream has ended
      goal_ = given_;
      flow_ = {};
    }
  }
  std::array<double, 2> acceleration = largest_;
  if (follows_ || any(asked_)) {
    brakes_ = false;
  } else {
    for (std::size_t k = 0; k < 2 && !brakes_; ++k) {
      const double speed = std::hypot(twist_[3 * k], twist_[3 * k + 1], twist_[3 * k + 2]);
      braking_[k] = std::max(largest_[k], speed / TARGET_LONGEST_STOP);
    }
    brakes_ = true;
    acceleration = braking_;
  }
  const Pose pose = pose_;
  const Pose goal = goal_;
  const Six twist = twist_;
  const double follows = follows_ ? 1.0 : 0.0;
  Six gap{};
  kernels::target_motion(
    pose.rotation.data(), pose.position.data(), twist.data(), goal.rotation.data(),
    goal.position.data(), flow_.data(), asked_.data(), &follows, speed_.data(),
    acceleration.data(), &dt, pose_.rotation.data(), pose_.position.data(), twist_.data(),
    acceleration_.data(), goal_.rotation.data(), goal_.position.data(), gap.data());
  if (follows_ && !any(flow_)) {
    const bool near =
      std::all_of(gap.begin(), gap.end(), [](double x) { return std::abs(x) < TARGET_NEAR; });
    if (near) {
      pose_ = goal_;
      arrived_ = rests_ = true;
    }
  } else if (!follows_ && !any(asked_) && !any(twist_)) {
    rests_ = true;
  }
  if (rests_) {
    twist_ = acceleration_ = {};
  }
}

// -- the task ------------------------------------------------------------------------------------

void Task::use(const TaskSettings & settings)
{
  if (settings == settings_) {
    return;
  }
  bool far = settings.free_axis != settings_.free_axis;
  for (std::size_t k = 0; k < 6; ++k) {
    const double before = settings_.selection[k] * settings_.stiffness[k];
    const double after = settings.selection[k] * settings.stiffness[k];
    far = far || after > STIFFER * before ||
          (has_last_ && after > 0.0 && std::abs(error_[k]) > settings.largest[k]);
  }
  if (far) {
    forget();
  }
  if (!settings.feels) {
    next_correction_ = {};
  }
  settings_ = settings;
  target_.use(settings);
}

void Task::forget()
{
  has_posture_ = false;
  next_correction_ = {};
  stop();
}

void Task::stop()
{
  given_ = Target::Kind::none;
  until_ = exerts_until_ = -EVER;
}

void Task::take(const Target & target, const Vector & q, double now)
{
  const Pose frame = frame_pose(q, target.frame);
  if (target.kind == Target::Kind::wrench) {
    asked_ = turned(frame.rotation, target.vector);
    ++asked_number_;
    exerts_until_ = now + target.lasts;
    return;
  }
  if (target.kind == Target::Kind::none) {
    return;
  }
  given_ = target.kind;
  given_at_ = now;
  taken_ = false;
  if (target.kind == Target::Kind::pose) {
    given_pose_ = product(frame, target.pose);
    until_ = EVER;
    driven_ = false;
  } else {
    given_twist_ = turned(frame.rotation, target.vector);
    until_ = now + target.lasts;
    driven_ = any(given_twist_);
  }
}

void Task::feel(const Six & wrench, double now)
{
  felt_ = wrench;
  felt_at_ = now;
}

bool Task::feels(double now) const
{
  return settings_.feels && now - felt_at_ <= settings_.feel_timeout;
}

bool Task::moves(double now) const { return given_ != Target::Kind::none && now < until_; }

void Task::step(double now, bool may_move, bool may_push)
{
  if (driven_ && !moves(now)) {
    driven_ = false;
    ++ended_;
  }
  const double dt = now - stepped_at_;
  stepped_at_ = now;
  step_ = std::min(dt, TARGET_LONGEST_STEP);
  correction_ = next_correction_;
  if (!has_posture_) {
    return;
  }
  const bool pushes = may_push && now < exerts_until_;
  const unsigned heading = pushes ? asked_number_ : 0;
  if (heading != heading_number_) {
    // In motion it goes on from the last cycle, or a stream of wrenches would stall it
    wrench_began_ = wrench_moves_ ? wrench_time_ : now;
    heading_number_ = heading;
    wrench_heading_ = pushes ? asked_ : Six{};
    wrench_start_ = exerted_;
    wrench_moves_ = true;
  }
  wrench_time_ = now;
  if (wrench_moves_) {
    const double u = (now - wrench_began_) / WRENCH_RAMP;
    for (std::size_t k = 0; k < 6; ++k) {
      exerted_[k] = u >= 1.0 ? wrench_heading_[k]
                             : wrench_start_[k] + std::max(u, 0.0) * (wrench_heading_[k] -
                                                                      wrench_start_[k]);
    }
    wrench_moves_ = u < 1.0;
  }
  if (given_ == Target::Kind::none || !may_move || now >= until_) {
    target_.rest();
    taken_ = false;
    waits_ = false;
  } else {
    lead();
  }
  target_.slow_down(attainable_);
  target_.step(dt);
}

void Task::lead()
{
  // Not away from a hand that does not follow: from an obstacle, or the end of its reach, the
  // target would have to come back all the way before the hand moves again
  const bool is_new = !taken_;
  taken_ = true;
  if (given_ == Target::Kind::twist) {
    waits_ = false;
    target_.drive(within_lead(given_twist_));
    return;
  }
  if (waits_) {
    const bool returns = is_new && !leaves(way_between(target_.pose(), given_pose_));
    if (returns || !any_behind(1.0)) {
      waits_ = false;
      target_.aim(given_pose_, given_at_);
    }
  } else if (is_new) {
    target_.aim(given_pose_, given_at_);
  } else if (leaves(target_.twist())) {
    waits_ = true;
    target_.rest();
  } else if (target_.arrived()) {
    given_ = Target::Kind::none;
  }
}

bool Task::behind(std::size_t direction, double share) const
{
  const double error = settings_.selection[direction] * std::abs(error_[direction]);
  return has_last_ && error > share * settings_.largest[direction];
}

bool Task::any_behind(double share) const
{
  bool any = false;
  for (std::size_t k = 0; k < 6; ++k) {
    any = any || behind(k, share);
  }
  return any;
}

std::array<double, 9> Task::axes() const
{
  return settings_.in_frame ? target_.pose().rotation : Pose().rotation;
}

bool Task::leaves(const Six & twist) const
{
  if (!any_behind(LEAD)) {
    return false;
  }
  const Six along = turned(axes(), twist, true);
  double leaving = 0.0;
  double all = 0.0;
  for (std::size_t k = 0; k < 6; ++k) {
    const double largest = settings_.largest[k];
    const double away = settings_.selection[k] * along[k] * error_[k] / (largest * largest);
    leaving += behind(k, LEAD) ? away : 0.0;
    all += std::abs(away);
  }
  return leaving > SLIGHT * all;
}

Six Task::within_lead(const Six & twist) const
{
  if (!any_behind(LEAD)) {
    return twist;
  }
  Six along = turned(axes(), twist, true);
  for (std::size_t k = 0; k < 6; ++k) {
    if (behind(k, LEAD) && along[k] * error_[k] > 0.0) {
      along[k] = 0.0;
    }
  }
  return turned(axes(), along);
}

void Task::effort(
  Mode mode, const Vector & q, const Vector & qd, const double * payload, const double * base,
  const double * drives, const double * tuning, Vector & asked)
{
  if (!has_posture_) {
    target_.begin(frame_pose(q, HAND_FRAME));
    posture_ = q;
    has_posture_ = true;
  }
  const TaskSettings & s = settings_;
  std::array<double, 7> feedback = s.feedback;
  if (s.feels) {
    feedback[5] = feels(stepped_at_) ? 1.0 : 0.0;
    feedback[6] = step_;
  }
  const std::array<double, 9> axes = s.in_frame ? target_.pose().rotation : Pose().rotation;
  kernels::task_law(
    mode, q.data(), qd.data(), target_.pose().rotation.data(), target_.pose().position.data(),
    target_.twist().data(), target_.acceleration().data(), exerted_.data(), axes.data(),
    s.root.data(), s.damping.data(), s.mobility.data(), s.largest.data(), s.selection.data(),
    s.held.data(), s.free_axis.data(), posture_.data(), s.numbers.data(), FASTEST.data(),
    s.returning.data(), felt_.data(), correction_.data(), feedback.data(), payload, base, drives, tuning,
    asked.data(), velocity_.data(), error_.data(), &singularity_, &attainable_,
    next_correction_.data());
  has_last_ = true;
}

HandState Task::state(double now) const
{
  HandState found;
  found.known = has_last_ && has_posture_;
  found.target = target_.pose();
  found.goal = given_ == Target::Kind::pose ? given_pose_ : target_.pose();
  found.error = error_;
  found.singularity = singularity_;
  found.given = given_;
  found.age = now - given_at_;
  found.rests = !any(target_.twist());
  found.ended = ended_;
  found.feels = feels(now);
  std::copy_n(&next_correction_[6], 6, found.correction.begin());
  return found;
}

}  // namespace @package@
