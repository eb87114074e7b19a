// Copyright (c) The robot_dynamics authors. SPDX-License-Identifier: Apache-2.0

#ifndef REFUSAL_HPP_
#define REFUSAL_HPP_

#include <chrono>
#include <cstdio>
#include <iterator>
#include <map>
#include <regex>
#include <stdexcept>
#include <string>
#include <vector>

namespace robot_dynamics_controllers
{

/// What is not done, and why: one line that names the remedy.
class Refusal : public std::runtime_error
{
public:
  using std::runtime_error::runtime_error;
};

/// Return a number in words.
inline std::string text(double x, const char * format = "%.4g")
{
  char digits[32];
  std::snprintf(digits, sizeof(digits), format, x + 0.0);
  return digits;
}

/// Return a name from outside in one line: control characters as escape sequences.
inline std::string one_line(const std::string & name)
{
  std::string line;
  for (const char c : name) {
    const auto code = static_cast<unsigned char>(c);
    char escaped[8] = {c, '\0'};
    if (code < 0x20 || code == 0x7F) {
      std::snprintf(escaped, sizeof(escaped), "\\x%02x", code);
    }
    line += escaped;
  }
  return line;
}

/// Return words between commas.
inline std::string joined(const std::vector<std::string> & words, const char * between = ", ")
{
  std::string line;
  for (const std::string & word : words) {
    line += (line.empty() ? "" : between) + one_line(word);
  }
  return line;
}

/// Return numbers between commas.
template <typename Values>
std::string list(const Values & values, const char * format = "%.3g")
{
  std::vector<std::string> words;
  for (const double x : values) {
    words.push_back(text(x, format));
  }
  return joined(words);
}

/// Return a name in quotation marks.
inline std::string quoted(const std::string & name) { return "'" + one_line(name) + "'"; }

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

#endif  // REFUSAL_HPP_
