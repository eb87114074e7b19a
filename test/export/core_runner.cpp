// Feeds a controller core with what it reads, and writes what it answers; all numbers are doubles.
//
// A request is a code and its numbers; see test_controller_core.py, which sends them.

#include <cstdio>
#include <vector>

#include "controller_core.hpp"
#include "refusal.hpp"

using namespace pkg;

namespace
{

bool read(double * to, std::size_t count) { return std::fread(to, sizeof(double), count, stdin) == count; }

double number()
{
  double x = 0.0;
  return read(&x, 1) ? x : 0.0;
}

void vector(Vector & to) { read(to.data(), N); }

void load(Load & to)
{
  read(to.payload.data(), to.payload.size());
  read(to.gravity.data(), to.gravity.size());
}

Settings settings()
{
  Settings s;
  s.mode = static_cast<Mode>(static_cast<int>(number()));
  s.coupled = number() > 0.5;
  for (Vector * v :
       {&s.kp, &s.kd, &s.ki, &s.i_clamp, &s.soft_lower, &s.soft_upper, &s.soft_velocity,
        &s.soft_stiffness, &s.soft_damping, &s.tracking_error, &s.effort_rate, &s.effort,
        &s.velocity}) {
    vector(*v);
  }
  for (Vector & row : s.drives) {
    vector(row);
  }
  read(s.tuning.data(), s.tuning.size());
  for (double * x :
       {&s.fade, &s.settle, &s.stop, &s.join, &s.state_timeout, &s.reference_timeout,
        &s.blind_time, &s.load_ramp, &s.longest_cycle}) {
    *x = number();
  }
  load(s.load);
  s.collision.reaction = static_cast<Reaction>(static_cast<int>(number()));
  s.collision.gain = number();
  s.collision.time = number();
  vector(s.collision.threshold);
  TaskSettings & t = s.task;
  t.in_frame = number() > 0.5;
  for (Six * v : {&t.stiffness, &t.largest, &t.selection, &t.held}) {
    read(v->data(), v->size());
  }
  for (SixBySix * v : {&t.root, &t.damping, &t.mobility}) {
    read(v->data(), v->size());
  }
  read(t.free_axis.data(), t.free_axis.size());
  read(t.numbers.data(), t.numbers.size());
  read(t.returning.data(), t.returning.size());
  t.feels = number() > 0.5;
  read(t.feedback.data(), t.feedback.size());
  t.feel_timeout = number();
  read(t.speed.data(), t.speed.size());
  read(t.acceleration.data(), t.acceleration.size());
  return s;
}

void write(const double * from, std::size_t count) { std::fwrite(from, sizeof(double), count, stdout); }

template <typename Measurement>
void move_base(ControllerCore & core, double now, const Measurement & measurement)
{
  try {
    core.move_base(measurement(), now);
  } catch (const Refusal &) {
  }
}

}  // namespace

int main()
{
  ControllerCore core;
  BaseFilter filter({}, 1.0, 1.0);
  double code = 0.0;
  while (read(&code, 1)) {
    if (code == 0.0) {
      core.activate(settings());
    } else if (code == 1.0) {
      core.use(settings());
    } else if (code == 2.0) {
      Load to;
      load(to);
      core.carry(to);
    } else if (code == 3.0) {
      const double now = number();
      Reference r;
      vector(r.motion.q);
      vector(r.motion.qd);
      vector(r.motion.qdd);
      r.has_effort = number() > 0.5;
      vector(r.effort);
      core.set_reference(r, now);
    } else if (code == 4.0) {
      const double now = number();
      Vector q, qd;
      vector(q);
      vector(qd);
      Command c;
      const double commands = core.update(q, qd, now, c) ? 1.0 : 0.0;
      const double status = static_cast<double>(c.status);
      const double cause = static_cast<double>(c.stop.cause);
      write(&commands, 1);
      write(&status, 1);
      write(&cause, 1);
      for (const Vector & v :
           {c.effort, c.error, c.desired.q, c.desired.qd, c.asked, c.feedback, c.integral}) {
        write(v.data(), N);
      }
      const double touched = static_cast<double>(c.touched);
      write(&touched, 1);
      write(c.external.data(), N);
      write(c.threshold.data(), N);
      write(c.hand.target.rotation.data(), 9);
      write(c.hand.target.position.data(), 3);
      write(c.hand.error.data(), 6);
      write(&c.hand.singularity, 1);
    } else if (code == 5.0) {
      core.resume();
    } else if (code == 6.0) {
      const double now = number();
      Target t;
      t.kind = static_cast<Target::Kind>(static_cast<int>(number()));
      t.frame = static_cast<std::size_t>(number());
      read(t.pose.rotation.data(), 9);
      read(t.pose.position.data(), 3);
      read(t.vector.data(), 6);
      t.lasts = number();
      core.set_target(t, now);
    } else if (code == 9.0) {
      Three gravity;
      read(gravity.data(), 3);
      const double time_constant = number();
      filter = BaseFilter(gravity, time_constant, number());
    } else if (code == 10.0) {
      Three force, angular, place;
      for (Three * v : {&force, &angular, &place}) {
        read(v->data(), 3);
      }
      const double stamp = number();
      move_base(core, stamp, [&]() { return filter.imu(force, angular, place, stamp); });
    } else if (code == 11.0) {
      std::array<double, 4> quaternion;
      Six twist;
      read(quaternion.data(), 4);
      read(twist.data(), 6);
      const double stamp = number();
      move_base(core, stamp, [&]() { return filter.odometry(quaternion, twist, stamp); });
    } else if (code == 7.0) {
      core.stop_hand();
    } else if (code == 8.0) {
      const double now = number();
      const auto frame = static_cast<std::size_t>(number());
      Six wrench;
      read(wrench.data(), 6);
      core.feel(exerted_wrench(wrench, frame), now);
    }
  }
  return std::fflush(stdout);
}
