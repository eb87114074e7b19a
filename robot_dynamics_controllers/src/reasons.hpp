// Copyright (c) The robot_dynamics authors. SPDX-License-Identifier: Apache-2.0

#ifndef REASONS_HPP_
#define REASONS_HPP_

#include <chrono>
#include <cstddef>
#include <iterator>
#include <map>
#include <regex>
#include <string>

namespace robot_dynamics_controllers
{

/// Lines that were logged of late. One line silences no other; lines that differ in numbers only
/// are one.
class Reasons
{
public:
  using Time = std::chrono::steady_clock::time_point;

  /// Return whether to log a line at a time.
  bool is_due(const std::string & line, Time now)
  {
    static const std::regex NUMBER(R"((^|\W)[-+]?\d+(\.\d+)?(e[-+]?\d+)?(?!\w))");
    const std::string reason = std::regex_replace(line, NUMBER, "$1#");
    for (auto known = logged_at_.begin(); known != logged_at_.end();) {
      known = now - known->second > REPEAT_AFTER ? logged_at_.erase(known) : std::next(known);
    }
    return logged_at_.size() < MOST && logged_at_.emplace(reason, now).second;
  }

private:
  static constexpr auto REPEAT_AFTER = std::chrono::seconds(10);
  static constexpr std::size_t MOST = 64;  // more are a storm

  std::map<std::string, Time> logged_at_;
};

}  // namespace robot_dynamics_controllers

#endif  // REASONS_HPP_
