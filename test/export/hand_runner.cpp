// Settings of the hand on the standard input, a line each; those of the law on the output.

#include <cstdio>
#include <iostream>
#include <sstream>
#include <string>

#include "hand_settings.hpp"
#include "refusal.hpp"

using namespace pkg;

namespace
{

template <typename T>
void list(std::istream & in, std::vector<T> & to)
{
  std::size_t count = 0;
  in >> count;
  to.resize(count);
  for (T & x : to) {
    in >> x;
  }
}

template <typename Values>
void print(const Values & values)
{
  for (const double x : values) {
    std::printf("%.17g ", x);
  }
}

}  // namespace

int main()
{
  std::string line;
  while (std::getline(std::cin, line)) {
    std::istringstream in(line);
    HandParameters given;
    double bandwidth = 0.0;
    double fastest = 0.0;
    in >> bandwidth >> fastest >> given.axes >> given.damping_ratio >> given.posture_frequency >>
      given.settling >> given.force_feedback >> given.force_proportional >> given.force_integral;
    for (std::vector<double> * to :
         {&given.stiffness, &given.damping, &given.inertia, &given.largest_error,
          &given.free_axis, &given.speed, &given.acceleration, &given.force_largest}) {
      list(in, *to);
    }
    list(in, given.controlled);
    try {
      const TaskSettings s = hand_settings(given, bandwidth, fastest);
      print(s.stiffness);
      // L L^T: the law takes every L of it alike
      for (std::size_t i = 0; i < 36; ++i) {
        double square = 0.0;
        for (std::size_t k = 0; k < 6; ++k) {
          square += s.root[6 * (i / 6) + k] * s.root[6 * (i % 6) + k];
        }
        std::printf("%.17g ", square);
      }
      print(s.damping);
      print(s.mobility);
      print(s.largest);
      print(s.selection);
      print(s.held);
      print(s.free_axis);
      print(s.numbers);
      print(s.returning);
      print(s.feedback);
      print(s.speed);
      print(s.acceleration);
      std::printf("%d %.17g\n", s.in_frame ? 1 : 0, s.share);
    } catch (const Refusal & refusal) {
      std::printf("%s\n", refusal.what());
    }
  }
  return 0;
}
