// A fault of the states that a driver reports, of the commands that it takes, or of the brakes.
#pragma once

#include <cmath>
#include <cstddef>
#include <deque>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

namespace compiled_plant
{

// Way after which a motion has begun, rad or m
constexpr double kBegun = 0.01;
// Delay of late states, period of bursts, and period of states of another pose, s
constexpr double kDelay = 0.08, kBurst = 0.03, kOther = 0.1;
// Wrong position, rad or m, and velocity, rad/s or m/s
constexpr double kJump = 1.0, kRunaway = 1e3;

struct Reported
{
  std::vector<double> q, qd;
};

class Fault
{
public:
  // `kind` is empty for none. The fault begins `after` a motion from `first` has, for a time, or
  // for one state.
  Fault(const std::string & kind, double after, double lasts, const std::vector<double> & first)
  : kind_(kind), after_(after), lasts_(lasts), first_(first),
    last_{first, std::vector<double>(first.size(), 0.0)}
  {
  }

  // Return whether the time of the fault has come.
  bool due() const {return at_ > 0.0;}

  bool closes_brakes() const {return acts_ && kind_ == "brakes";}

  bool loses_commands() const {return acts_ && kind_ == "commands lost";}

  // Let time pass, up to `now`, s.
  void watch(double now, const std::vector<double> & q)
  {
    double way = 0.0;
    for (std::size_t i = 0; i < q.size(); ++i) {
      way = std::max(way, std::abs(q[i] - first_[i]));
    }
    if (begun_ <= 0.0 && way > kBegun) {
      begun_ = now;
    }
    const bool first = !due() && begun_ > 0.0 && now >= begun_ + after_;
    if (first) {
      at_ = now;
    }
    acts_ = first || (due() && now < at_ + lasts_);
  }

  // Return what the driver reports of a measured state.
  const Reported & report(double now, const Reported & measured)
  {
    const std::size_t joint = first_.size() - 1;
    const double nan = std::numeric_limits<double>::quiet_NaN();
    if (acts_ && (kind_ == "gap" || kind_ == "long gap")) {
      return last_;
    }
    if (acts_ && kind_ == "bursts") {
      if (now < refreshed_ + kBurst) {
        return last_;
      }
      refreshed_ = now;
    }
    if (acts_ && kind_ == "late") {
      held_.push_back({now, measured});
      while (held_.size() > 1 && held_[1].first <= now - kDelay) {
        held_.pop_front();
      }
      if (held_.front().first <= now - kDelay) {
        last_ = held_.front().second;
      }
      return last_;
    }
    const double frozen[] = {last_.q[joint], last_.qd[joint]};
    last_ = measured;
    if (!acts_) {
      return last_;
    }
    if (kind_ == "not a number") {
      last_.q.assign(first_.size(), nan);
      last_.qd.assign(first_.size(), nan);
    } else if (kind_ == "missing joint") {
      last_.q[joint] = last_.qd[joint] = nan;
    } else if (kind_ == "position glitch") {
      last_.q[joint] += kJump;
    } else if (kind_ == "velocity glitch") {
      last_.qd[joint] += kRunaway;
    } else if (kind_ == "frozen joint") {
      last_.q[joint] = frozen[0];
      last_.qd[joint] = frozen[1];
    } else if (kind_ == "another pose" && now >= refreshed_ + kOther) {
      refreshed_ = now;
      last_ = {first_, std::vector<double>(first_.size(), 0.0)};
    }
    return last_;
  }

private:
  std::string kind_;
  double after_, lasts_;
  std::vector<double> first_;
  Reported last_;
  std::deque<std::pair<double, Reported>> held_;
  double begun_ = 0.0, at_ = 0.0, refreshed_ = 0.0;
  bool acts_ = false;
};

}  // namespace compiled_plant
