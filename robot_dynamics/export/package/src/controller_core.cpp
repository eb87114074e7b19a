#include "controller_core.hpp"

#include <algorithm>
#include <cmath>

#include "kernels.hpp"

namespace @package@
{
namespace
{

// Rows of the input `state` of the kernel `cycle`
constexpr std::size_t EFFORT_ROW = 0;
constexpr std::size_t CUT_ROW = 1;
constexpr std::size_t INTEGRAL_ROW = 2;

constexpr double NEVER = -1e300;

// Jumps of the position of a reference, beyond what its velocity explains. A late message makes
// one and the next one takes it back; a sender that catches up makes many of them.
constexpr double JUMP_WINDOW = 0.3;   // s in which they are summed
constexpr double LARGEST_SUM = 0.05;  // of jumps that are followed, per NEAREST

bool finite(const Vector & values)
{
  return std::all_of(values.begin(), values.end(), [](double x) { return std::isfinite(x); });
}

std::array<double, 3 * N> rows_of(const Motion & motion)
{
  std::array<double, 3 * N> rows{};
  std::copy(motion.q.begin(), motion.q.end(), rows.begin());
  std::copy(motion.qd.begin(), motion.qd.end(), rows.begin() + N);
  std::copy(motion.qdd.begin(), motion.qdd.end(), rows.begin() + 2 * N);
  return rows;
}

Motion motion_of(const std::array<double, 3 * N> & rows)
{
  Motion motion;
  std::copy(rows.begin(), rows.begin() + N, motion.q.begin());
  std::copy(rows.begin() + N, rows.begin() + 2 * N, motion.qd.begin());
  std::copy(rows.begin() + 2 * N, rows.end(), motion.qdd.begin());
  return motion;
}

Vector position_error(const Vector & desired, const Vector & measured)
{
  Vector error;
  kernels::position_error(desired.data(), measured.data(), error.data());
  return error;
}

/// Return the effort that holds the arm at rest on a base.
Vector held_effort(
  const Vector & q, const std::array<double, 10> & payload, const Base & base,
  const Settings & settings)
{
  const std::array<double, 3 * N> desired = rows_of({q, {}, {}});
  std::array<double, 2 * N> measured{};
  std::copy(q.begin(), q.end(), measured.begin());
  Vector tau{};
  kernels::law(
    Mode::gravity_compensation, false, desired.data(), measured.data(), payload.data(), base.data(),
    settings.drives[0].data(), settings.tuning.data(), tau.data());
  return tau;
}

}  // namespace

Vector gravity_effort(const Vector & q, const Load & load, const Settings & settings)
{
  return held_effort(q, load.payload, standing(load.gravity), settings);
}

void Brakes::begin(const Vector & q, const Vector & effort)
{
  q_ = q;
  effort_ = effort;
  free_.fill(false);
  since_.fill(UNLIMITED);
  all_free_ = false;
  next_ = NEVER;
}

std::size_t Brakes::closed(
  const Vector & q, const Vector & effort, const Vector & limit, double now)
{
  if (all_free_ || now < next_) {
    return N;
  }
  next_ = now + BRAKES_PERIOD;
  bool answers = false;
  all_free_ = true;
  for (std::size_t i = 0; i < N; ++i) {
    free_[i] = free_[i] || std::abs(q[i] - q_[i]) > BRAKES_STILL;
    answers = answers || free_[i];
    all_free_ = all_free_ && free_[i];
  }
  if (all_free_) {
    return N;
  }
  // While no joint has moved, the drives may ignore the efforts: then a smaller change counts
  const double share = answers ? BRAKES_SHARE : BRAKES_UNANSWERED_SHARE;
  const double delay = answers ? BRAKES_DELAY : BRAKES_UNANSWERED_DELAY;
  std::size_t first = 0;
  for (std::size_t i = 0; i < N; ++i) {
    const bool pushed = std::abs(effort[i] - effort_[i]) > share * limit[i] && !free_[i];
    since_[i] = pushed ? std::min(since_[i], now) : UNLIMITED;
    first = since_[i] < since_[first] ? i : first;
  }
  return now - since_[first] > delay ? first : N;
}

bool Brakes::answers() const
{
  return std::any_of(free_.begin(), free_.end(), [](bool free) { return free; });
}

void ControllerCore::activate(const Settings & settings)
{
  *this = ControllerCore();
  settings_ = settings;
  task_.use(settings.task);
  load_ = load_start_ = load_target_ = settings.load;
  base_ = standing(load_.gravity);
  reference_at_ = state_at_ = fade_began_ = moved_at_ = NEVER;
}

void ControllerCore::use(const Settings & settings)
{
  const bool was_led = !follows_reference(law());
  const bool was_in_task_space = in_task_space(settings_.mode);
  if (settings.drives[ROTOR_ROW] != settings_.drives[ROTOR_ROW]) {
    contacts_.forget();  // the momentum is another one
  }
  settings_ = settings;
  settings_.drives[DIRECTION_ROW] = memory_.direction();
  if (!remembers()) {
    memory_.forget();
  }
  renew_ = true;
  // The arm may have been led anywhere meanwhile
  led_by_hand_ = led_by_hand_ || (was_led && follows_reference(law()));
  if (in_task_space(settings.mode) && !was_in_task_space) {
    has_reference_ = false;
    reference_at_ = NEVER;
    task_.forget();
  }
  task_.use(settings.task);
  carry(settings.load);
}

void ControllerCore::carry(const Load & load)
{
  if (load.payload == load_target_.payload && load.gravity == load_target_.gravity) {
    return;
  }
  load_target_ = load;
  load_is_new_ = true;
}

bool ControllerCore::resume()
{
  const bool resumed = stop_.cause != Cause::none;
  led_by_hand_ = led_by_hand_ || !follows_reference(law());  // since a collision
  returning_ = returning_ || resumed;
  stop_ = Stop();
  return resumed;
}

bool ControllerCore::set_reference(const Reference & reference, double now)
{
  const Motion & motion = reference.motion;
  if (
    !finite(motion.q) || !finite(motion.qd) || !finite(motion.qdd) ||
    (reference.has_effort && !finite(reference.effort))) {
    return false;
  }
  if (in_task_space(settings_.mode)) {
    return true;
  }
  if (status_ == Status::tracking && has_reference_) {
    // A sender that was stopped, or another one, goes on elsewhere: join it as at the start
    const bool jumps = goes_on_elsewhere(motion, now);
    if (jumps && !jumps_) {
      jump_begin_ = desired_now(now);
      // An effort that came along may jump, too; jump after jump must not hold efforts still
      renew_ = renew_ || now - fade_began_ > settings_.fade;
    }
    jumps_ = jumps_ || jumps;
  } else {
    jumped_by_ = {};
  }
  reference_ = reference;
  has_reference_ = true;
  reference_at_ = now;
  if (status_ == Status::tracking && follows_reference(settings_.mode)) {
    for (std::size_t i = 0; i < N; ++i) {
      const double speed = std::abs(motion.qd[i]);
      if (speed > FAST * settings_.velocity[i] && stop_.cause == Cause::none) {
        stop_ = {Cause::fast_reference, i, speed, settings_.velocity[i]};
      }
    }
  }
  return true;
}

bool ControllerCore::goes_on_elsewhere(const Motion & motion, double now)
{
  const double age = std::max(now - reference_at_, 0.0);
  const Vector moved = position_error(motion.q, reference_.motion.q);
  bool elsewhere = false;
  for (std::size_t i = 0; i < N; ++i) {
    // A sender of positions alone gives no velocity, and its motion is one jump after the other
    const double from = reference_.motion.qd[i];
    const double to = motion.qd[i];
    const bool moves = std::abs(from) + std::abs(to) > 0.0;
    // Between both velocities any motion is possible
    const double jump = moved[i] - std::min(
      std::max(moved[i], age * std::min(from, to)), age * std::max(from, to));
    jumped_by_[i] = moves ? std::max(1.0 - age / JUMP_WINDOW, 0.0) * jumped_by_[i] + jump : 0.0;
    elsewhere = elsewhere || std::abs(jump) > NEAREST[i] ||
                std::abs(jumped_by_[i]) > LARGEST_SUM * NEAREST[i];
  }
  return elsewhere;
}

void ControllerCore::set_target(const Target & target, double now)
{
  if (in_task_space(settings_.mode) && has_state_) {
    task_.take(target, q_, now);
  }
}

void ControllerCore::move_base(const BaseMotion & motion, double now)
{
  base_estimate_.take(motion, now);
}

Mode ControllerCore::law() const
{
  if (hit() && settings_.collision.reaction == Reaction::give_way) {
    return Mode::floating;
  }
  // An arm that is stopped in task space is held joint by joint
  const bool held = in_task_space(settings_.mode) && status_ == Status::stopped;
  return held ? Mode::feedforward : settings_.mode;
}

void ControllerCore::move_task(double now)
{
  if (
    status_ == Status::silent || status_ == Status::blind || status_ == Status::stopped) {
    task_.stop();
  }
  if (task_.moves(now)) {
    reference_at_ = now;
  }
  const bool tracks = status_ == Status::tracking;
  task_.step(now, tracks, tracks || status_ == Status::holding);
}

void ControllerCore::watch_contacts()
{
  const Collision & collision = settings_.collision;
  if (collision.reaction == Reaction::none) {
    return;
  }
  Vector effort;
  std::copy_n(state_.begin() + EFFORT_ROW * N, N, effort.begin());
  contacts_.feed(
    collision, q_, qd_, effort, state_at_, load_.payload.data(), base_.data(),
    settings_.drives[0].data(), settings_.tuning.data(), remembers());
  const std::size_t joint = touched();
  if (
    joint < N && stop_.cause == Cause::none && collision.reaction != Reaction::report) {
    stop_ = {
      Cause::collision, joint, contacts_.effort()[joint],
      collision.threshold[joint] + contacts_.band()[joint]};
  }
}

std::size_t ControllerCore::touched() const
{
  // Closed brakes are no contact, nor is a hand that leads the arm
  const bool tracks = status_ == Status::tracking;
  const bool judged = tracks || status_ == Status::holding || status_ == Status::stopped;
  const Mode mode = law();
  const bool led = !follows_reference(mode) && !in_task_space(mode);
  const bool braked = braked_by_ < N || (tracks && !brakes_.answers());
  const bool none = settings_.collision.reaction == Reaction::none;
  return judged && !led && !braked && !none ? contacts_.joint() : N;
}

bool ControllerCore::stale(double since, double timeout, double now) const
{
  return since == NEVER || now - since > timeout;
}

bool ControllerCore::update(
  const Vector & q, const Vector & qd, double now, Command & command) noexcept
{
  if (finite(q) && finite(qd)) {
    q_ = q;
    qd_ = qd;
    has_state_ = true;
    state_at_ = now;
  } else if (has_state_) {
    // The motion goes on: compared with an old state, the reference would seem to run away
    const double dt = std::min(std::max(now - last_time_, 0.0), settings_.state_timeout);
    for (std::size_t i = 0; i < N; ++i) {
      q_[i] += now - state_at_ > settings_.state_timeout ? 0.0 : dt * qd_[i];
    }
  }
  if (!has_state_) {
    return false;
  }
  if (!begun_) {
    begin(now);
  }
  load_at(now);
  base_at(now);
  if (in_task_space(settings_.mode)) {
    move_task(now);
  }
  watch_contacts();
  if (jumps_ && status_ == Status::tracking) {
    go_on_from(jump_begin_, now);
    // Without a step of the acceleration, joining goes on although jump follows jump
    const Motion to = reference_now(now);
    for (std::size_t i = 0; i < N; ++i) {
      gap_begin_.qdd[i] = jump_begin_.qdd[i] - to.qdd[i];
    }
  }
  jumps_ = false;

  Cycle found;
  bool known = false;
  const Cycle * tracked = nullptr;
  if (status_ == Status::tracking) {  // the position error may end it
    evaluate(now, found, &command);
    known = true;
    tracked = &found;
  }
  const Status next = next_status(now, tracked);
  if (next != status_) {
    enter(next, now);
    known = false;
  } else if (led_by_hand_) {
    go_on_from({q_, qd_, {}}, now);
    known = false;
  }
  led_by_hand_ = false;
  command.status = status_;
  command.stop = stop_;
  if (status_ == Status::silent) {
    return false;
  }
  if (!known) {
    evaluate(now, found, &command);
  }
  const double dt = now - last_time_;
  if (renew_) {
    fade_began_ = now;
    renew_ = false;
  }
  state_ = found.state;
  last_time_ = now;
  command.error = found.error;
  bool cut = false;
  for (std::size_t i = 0; i < N; ++i) {
    command.effort[i] = state_[EFFORT_ROW * N + i];
    command.integral[i] = state_[INTEGRAL_ROW * N + i];
    command.saturated[i] = state_[CUT_ROW * N + i] > 0.0;
    cut = cut || command.saturated[i];
  }
  watch_brakes(now);
  watch_disturbance(dt);
  command.braked_by = braked_by_;
  command.follows = follows_reference(law());
  command.touched = touched();
  command.external = contacts_.effort();
  command.threshold = contacts_.band();
  for (std::size_t i = 0; i < N; ++i) {
    command.threshold[i] += settings_.collision.threshold[i];
  }
  command.hand = in_task_space(settings_.mode) ? task_.state(now) : HandState();
  command.base_moves = !base_estimate_.stale(settings_.base_timeout, now);
  if (cut || saturates_) {
    saturates_ = cut;
    watch_saturation(command.desired, dt, now);
  }
  return true;
}

void ControllerCore::begin(double now)
{
  begun_ = true;
  last_time_ = now;
  settled_at_ = now + settings_.settle;
  renew_ = true;
  state_ = {};
  memory_.forget();
  const Vector held = held_effort(q_, load_.payload, base_, settings_);
  std::copy(held.begin(), held.end(), state_.begin());
}

Vector ControllerCore::holding_effort() const
{
  // The base may stop at any time
  const Base & base = base_estimate_.still(base_);
  Vector tau = held_effort(q_, load_.payload, base, settings_);
  for (std::size_t i = 0; i < N; ++i) {
    tau[i] = std::min(std::max(tau[i], -settings_.effort[i]), settings_.effort[i]);
  }
  return tau;
}

Status ControllerCore::next_status(double now, const Cycle * tracked)
{
  const double age = now - state_at_;
  if (stale(state_at_, settings_.state_timeout, now)) {
    settled_at_ = now + settings_.settle;
    return age > settings_.state_timeout + settings_.blind_time ? Status::silent : Status::blind;
  }
  if (
    tracked != nullptr && tracked->excess > 0.0 && follows_reference(settings_.mode) &&
    stop_.cause == Cause::none) {
    std::size_t worst = 0;
    double excess = NEVER;
    for (std::size_t i = 0; i < N; ++i) {
      const double beyond = std::abs(tracked->error[i]) - settings_.tracking_error[i];
      if (beyond > excess) {
        excess = beyond;
        worst = i;
      }
    }
    stop_ = {
      Cause::tracking_error, worst, tracked->error[worst], settings_.tracking_error[worst]};
  }
  if (stop_.cause != Cause::none) {
    return Status::stopped;
  }
  if (stale(reference_at_, settings_.reference_timeout, now)) {
    return Status::holding;
  }
  returning_ = returning_ && !in_task_space(settings_.mode) && !reference_is_near(now);
  if (returning_) {
    return Status::resumed;
  }
  return now < settled_at_ ? Status::settling : Status::tracking;
}

void ControllerCore::enter(Status status, double now)
{
  const bool by_hand = led_by_hand_ || !follows_reference(law());
  const Status before = status_;
  const bool at_rest = status_ == Status::settling || status_ == Status::holding ||
                       status_ == Status::stopped || status_ == Status::resumed;
  const bool held = at_rest && !by_hand && status != Status::stopped;
  const bool goes_on =
    status != Status::blind &&
    (held || (status_ == Status::tracking && status == Status::holding));
  Motion start{q_, qd_, {}};
  if (goes_on) {
    start = desired_now(now);
    start.qdd = {};
  } else {
    std::fill_n(state_.begin() + INTEGRAL_ROW * N, N, 0.0);
  }
  status_ = status;
  if (status == Status::tracking) {
    Vector effort;
    std::copy_n(state_.begin() + EFFORT_ROW * N, N, effort.begin());
    brakes_.begin(q_, effort);
  } else if (status != Status::settling) {
    braked_by_ = N;
  }
  renew_ = true;
  if (
    status == Status::stopped || before == Status::stopped || before == Status::blind ||
    before == Status::silent) {
    task_.forget();
    if (in_task_space(settings_.mode)) {
      reference_at_ = NEVER;  // of the target that is given up
    }
  }
  memory_.leave();
  go_on_from(start, now);
}

void ControllerCore::go_on_from(const Motion & start, double now)
{
  if (status_ != Status::tracking || !has_reference_) {
    rest_begin_ = start;
    rest_began_ = now;
    rest_stop_ = settings_.stop;
    retreats_ = false;
    if (!hit() || status_ != Status::stopped) {
      return;
    }
    rest_stop_ = std::min(rest_stop_, CONTACT_STOP);
    if (settings_.collision.reaction == Reaction::retreat) {
      // At a quarter of the speed limits, to where the arm was
      Motion end;
      retreat_began_ = rest_at(UNLIMITED, end);
      retreat_gap_ = {position_error(end.q, contacts_.retreat()), {}, {}};
      for (std::size_t i = 0; i < N; ++i) {
        retreat_to_[i] = end.q[i] - retreat_gap_.q[i];
      }
      retreat_duration_ = joining_time(retreat_gap_.q, SHORTEST_JOIN);
      retreats_ = true;
    }
    return;
  }
  const Motion to = reference_now(now);
  gap_begin_.q = position_error(start.q, to.q);
  for (std::size_t i = 0; i < N; ++i) {
    gap_begin_.qd[i] = start.qd[i] - to.qd[i];
  }
  gap_begin_.qdd = {};
  gap_duration_ = joining_time(gap_begin_.q, settings_.join);
  gap_began_ = now;
}

double ControllerCore::joining_time(const Vector & gap, double least) const
{
  Vector speed;
  for (std::size_t i = 0; i < N; ++i) {
    speed[i] = std::isfinite(settings_.velocity[i]) ? settings_.velocity[i] : USUAL_SPEED;
  }
  double duration = 0.0;
  kernels::join_duration(gap.data(), speed.data(), &least, &duration);
  return duration;
}

double ControllerCore::rest_at(double time, Motion & motion) const
{
  if (rest_stop_ <= 0.0) {
    motion = {rest_begin_.q, {}, {}};
    return 0.0;
  }
  const std::array<double, 3 * N> begin = rows_of(rest_begin_);
  std::array<double, 3 * N> state{};
  double end = 0.0;
  kernels::rest(
    begin.data(), &rest_stop_, LOWER.data(), UPPER.data(), &time, state.data(), &end);
  motion = motion_of(state);
  return end;
}

Motion ControllerCore::rest_now(double now) const
{
  const double time = now - rest_began_;
  Motion motion;
  if (!retreats_ || time < retreat_began_) {
    rest_at(time, motion);
    return motion;
  }
  const std::array<double, 3 * N> begin = rows_of(retreat_gap_);
  std::array<double, 3 * N> gap{};
  const double since = std::min(time - retreat_began_, retreat_duration_);
  kernels::approach(begin.data(), &retreat_duration_, &since, gap.data());
  motion = motion_of(gap);
  for (std::size_t i = 0; i < N; ++i) {
    motion.q[i] += retreat_to_[i];
  }
  return motion;
}

Motion ControllerCore::reference_now(double now) const
{
  // Between two messages the motion goes on with its velocity
  Motion reference = reference_.motion;
  const double ahead = std::min(std::max(now - reference_at_, 0.0), settings_.reference_timeout);
  for (std::size_t i = 0; i < N; ++i) {
    reference.q[i] += ahead * reference.qd[i];
  }
  return reference;
}

Motion ControllerCore::desired_now(double now) const
{
  if (status_ != Status::tracking || !has_reference_) {
    return rest_now(now);
  }
  Motion desired = reference_now(now);
  const double time = now - gap_began_;
  if (time < gap_duration_) {
    const std::array<double, 3 * N> begin = rows_of(gap_begin_);
    std::array<double, 3 * N> gap{};
    kernels::approach(begin.data(), &gap_duration_, &time, gap.data());
    for (std::size_t i = 0; i < N; ++i) {
      desired.q[i] += gap[i];
      desired.qd[i] += gap[N + i];
      desired.qdd[i] += gap[2 * N + i];
    }
  }
  return desired;
}

bool ControllerCore::reference_is_near(double now) const
{
  if (!has_reference_) {
    return false;
  }
  const Vector error = position_error(reference_now(now).q, q_);
  for (std::size_t i = 0; i < N; ++i) {
    if (
      !(std::abs(error[i]) < NEAREST[i]) ||
      !(std::abs(reference_.motion.qd[i]) <= settings_.velocity[i])) {
      return false;
    }
  }
  return true;
}

bool ControllerCore::runs_away(double now) const
{
  bool fast = false;
  for (std::size_t i = 0; i < N; ++i) {
    fast = fast || std::abs(qd_[i]) > settings_.velocity[i];
  }
  if (!fast) {
    return false;
  }
  const Vector error = position_error(rest_now(now).q, q_);
  for (std::size_t i = 0; i < N; ++i) {
    if (std::abs(error[i]) > settings_.tracking_error[i]) {
      return true;
    }
  }
  return false;
}

void ControllerCore::feedforward(const Motion & motion, Vector & tau) const
{
  const std::array<double, 3 * N> rows = rows_of(motion);
  kernels::feedforward(
    rows.data(), load_.payload.data(), base_.data(), settings_.drives[0].data(),
    settings_.tuning.data(), tau.data());
}

void ControllerCore::law_effort(const Motion & desired, Vector & asked)
{
  const Mode mode = law();
  const double * payload = load_.payload.data();
  const double * base = base_.data();
  const double * drives = settings_.drives[0].data();
  const double * tuning = settings_.tuning.data();
  if (in_task_space(mode)) {
    task_.effort(mode, q_, qd_, payload, base, drives, tuning, asked);
    return;
  }
  std::array<double, 3 * N> reference = rows_of(desired);
  std::copy(expected_.begin(), expected_.end(), reference.begin() + 2 * N);
  std::array<double, 2 * N> measured{};
  std::copy(q_.begin(), q_.end(), measured.begin());
  std::copy(qd_.begin(), qd_.end(), measured.begin() + N);
  if (mode == Mode::floating) {
    kernels::floating(
      measured.data(), settings_.kd.data(), payload, base, drives, tuning, asked.data());
    return;
  }
  kernels::law(
    mode, settings_.coupled, reference.data(), measured.data(), payload, base, drives, tuning,
    asked.data());
}

bool ControllerCore::remembers() const
{
  const Vector & part = settings_.drives[MEMORY_ROW];
  return std::any_of(part.begin(), part.end(), [](double x) { return x > 0.0; });
}

void ControllerCore::remember(const Motion & desired, double dt)
{
  if (!remembers()) {
    return;
  }
  memory_.follow(desired.q, desired.qd);
  if (in_task_space(law()) && status_ == Status::tracking) {
    Vector way = task_.velocity();
    for (double & x : way) {
      x *= dt;
    }
    memory_.move(way);
  }
  settings_.drives[DIRECTION_ROW] = memory_.direction();
}

void ControllerCore::pack(bool open_loop, std::array<double, SETTING_ROWS * N> & rows) const
{
  // In the order of `JointSettings`
  const Settings & s = settings_;
  const Vector * given[SETTING_ROWS] = {
    &s.kp,         &s.kd,         &s.ki,             &s.i_clamp,      &s.soft_lower,
    &s.soft_upper, &s.soft_velocity, &s.soft_stiffness, &s.soft_damping, &s.tracking_error,
    &s.effort_rate, &s.effort};
  for (std::size_t row = 0; row < SETTING_ROWS; ++row) {
    std::copy(given[row]->begin(), given[row]->end(), rows.begin() + static_cast<long>(row * N));
  }
  const Mode mode = law();
  const bool by_joint = adds_pd(mode) && !(mode == Mode::feedforward && s.coupled) && !open_loop;
  if (!by_joint) {
    std::fill_n(rows.begin(), 2 * N, 0.0);
  }
  if (open_loop || !follows_reference(mode)) {
    std::fill_n(rows.begin() + 2 * N, N, 0.0);
  }
  if (open_loop) {
    std::fill_n(rows.begin() + 7 * N, 2 * N, 0.0);
  }
}

void ControllerCore::evaluate(double now, Cycle & found, Command * report)
{
  const bool open_loop = status_ == Status::blind;
  const Vector * given = nullptr;
  Motion desired;
  if (status_ == Status::tracking && has_reference_) {
    desired = desired_now(now);
    given = reference_.has_effort ? &reference_.effort : nullptr;
  } else {
    if (!open_loop && follows_reference(law()) && runs_away(now)) {
      memory_.leave();
      go_on_from({q_, {}, {}}, now);
    }
    desired = rest_now(now);
  }
  remember(desired, now - last_time_);
  if (!open_loop && !follows_reference(law())) {
    // The arm may be anywhere: what the model does not contain shows where it is
    feedforward({q_, qd_, {}}, expected_);
  } else if (given != nullptr) {
    expected_ = *given;
  } else {
    feedforward(desired, expected_);
  }
  Vector asked{};
  if (open_loop) {
    asked = expected_;
    add_disturbance(desired, asked);
  } else {
    law_effort(desired, asked);
  }

  std::array<double, SETTING_ROWS * N> settings{};
  pack(open_loop, settings);
  std::array<double, 2 * N> target{};
  std::copy(desired.q.begin(), desired.q.end(), target.begin());
  std::copy(desired.qd.begin(), desired.qd.end(), target.begin() + N);
  const double elapsed = renew_ ? 0.0 : now - fade_began_;
  const double duration = hit() ? std::min(settings_.fade, CONTACT_FADE) : settings_.fade;
  double fade = 0.0;
  if (elapsed >= 0.0 && elapsed < duration) {
    const double share = elapsed / duration;
    kernels::rise(&share, &fade);
    fade = 1.0 - fade;
  }
  const bool integrates =
    !open_loop && follows_reference(law()) &&
    std::any_of(settings_.ki.begin(), settings_.ki.end(), [](double ki) { return ki > 0.0; });
  const double scalars[SCALARS] = {
    0.0,  // share of the way to the second state of the segment
    0.0,  // extrapolation
    now - last_time_,
    settings_.longest_cycle,
    fade,
    renew_ ? 1.0 : 0.0,
    integrates ? 1.0 : 0.0};
  const std::array<double, 2 * N> none{};
  kernels::cycle(
    target.data(), target.data(), none.data(), asked.data(), q_.data(), qd_.data(), state_.data(),
    scalars, settings.data(), found.state.data(), found.error.data(), &found.excess);

  report->desired = desired;
  report->asked = asked;
  std::array<double, 2 * N> measured{};
  std::copy(q_.begin(), q_.end(), measured.begin());
  std::copy(qd_.begin(), qd_.end(), measured.begin() + N);
  kernels::feedback(
    target.data(), measured.data(), settings.data(), report->feedback.data(),
    report->soft_limits.data());
}

void ControllerCore::watch_brakes(double now)
{
  if (status_ != Status::tracking || (brakes_.all_free() && braked_by_ == N)) {
    return;
  }
  Vector effort;
  std::copy_n(state_.begin() + EFFORT_ROW * N, N, effort.begin());
  const std::size_t closed = brakes_.closed(q_, effort, settings_.effort, now);
  if (closed < N) {
    braked_by_ = closed;
    settled_at_ = now + std::max(settings_.settle, SHORTEST_PAUSE);
  } else if (braked_by_ < N && brakes_.free(braked_by_)) {
    braked_by_ = N;
  }
}

void ControllerCore::watch_disturbance(double dt)
{
  if (status_ == Status::blind) {
    return;
  }
  blind_speed_ = qd_;
  const double share = std::min(std::max(dt, 0.0) / DISTURBANCE_WINDOW, 1.0);
  for (std::size_t i = 0; i < N; ++i) {
    const double found = state_[EFFORT_ROW * N + i] - expected_[i];
    const double most = DISTURBANCE_SHARE * settings_.effort[i];
    disturbance_[i] += share * (std::min(std::max(found, -most), most) - disturbance_[i]);
  }
}

void ControllerCore::add_disturbance(const Motion & motion, Vector & tau) const
{
  // One against the motion may be friction: it fades with the speed, or it would push a joint at
  // rest. A load stays.
  for (std::size_t i = 0; i < N; ++i) {
    const double speed = std::abs(blind_speed_[i]);
    const bool friction = disturbance_[i] * blind_speed_[i] > 0.0 && speed > DISTURBANCE_SPEED;
    const double part = friction ? std::min(std::abs(motion.qd[i]) / speed, 1.0) : 1.0;
    tau[i] += part * disturbance_[i];
  }
}

void ControllerCore::watch_saturation(const Motion & desired, double dt, double now)
{
  const Mode mode = law();
  if (status_ == Status::blind || !(follows_reference(mode) || in_task_space(mode))) {
    return;
  }
  const Vector & asked = in_task_space(mode) ? task_.velocity() : desired.qd;
  Vector speed{};
  for (std::size_t i = 0; i < N; ++i) {
    const bool cut = state_[CUT_ROW * N + i] > 0.0;
    speed[i] = cut ? std::abs(qd_[i] - asked[i]) : 0.0;
  }
  const double step = std::min(std::max(dt, 0.0), settings_.state_timeout);
  const double since = moved_at_ == NEVER ? 1e3 : now - moved_at_;
  Vector moved;
  kernels::saturation(moved_.data(), speed.data(), &step, &since, moved.data());
  moved_ = moved;
  moved_at_ = now;
  std::size_t worst = 0;
  double excess = NEVER;
  for (std::size_t i = 0; i < N; ++i) {
    if (moved_[i] - NEAREST[i] > excess) {
      excess = moved_[i] - NEAREST[i];
      worst = i;
    }
  }
  if (excess > 0.0 && stop_.cause == Cause::none) {
    stop_ = {Cause::saturation, worst, speed[worst], settings_.effort[worst]};
  }
}

void ControllerCore::load_at(double now)
{
  if (load_is_new_) {
    // In motion it goes on from the last cycle, or a stream of loads would stall it
    load_began_ = load_moves_ ? last_time_ : now;
    load_start_ = load_;
    load_is_new_ = false;
    load_moves_ = true;
  }
  if (load_moves_) {
    // Efforts are linear in the load, so that a linear ramp of it is one of the efforts
    const double u = settings_.load_ramp > 0.0
                       ? std::min(std::max((now - load_began_) / settings_.load_ramp, 0.0), 1.0)
                       : 1.0;
    for (std::size_t i = 0; i < load_.payload.size(); ++i) {
      load_.payload[i] =
        load_start_.payload[i] + u * (load_target_.payload[i] - load_start_.payload[i]);
    }
    for (std::size_t i = 0; i < load_.gravity.size(); ++i) {
      load_.gravity[i] =
        load_start_.gravity[i] + u * (load_target_.gravity[i] - load_start_.gravity[i]);
    }
    load_moves_ = u < 1.0;
  }
}

void ControllerCore::base_at(double now)
{
  base_ = base_estimate_.at(standing(load_.gravity), settings_.base_timeout, now);
}

}  // namespace @package@
