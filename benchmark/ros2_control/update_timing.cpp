// Call update() of a controller many times without controller_manager, and print its durations.
//
//   update_timing TYPE URDF CYCLES PARAMETERS.yaml
//
// The interfaces are those that the controller asks for. States follow sines; interfaces
// <...>/<joint>/{position,velocity,acceleration} that the controller exports get the same motion,
// and its topic `~/joint_trajectory` a long trajectory. Calls in update() of the allocator, of mutexes
// and of the system are counted in a second pass, so that counting does not change the durations.
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "controller_interface/chainable_controller_interface.hpp"
#include "controller_interface/controller_interface.hpp"
#include "hardware_interface/loaned_command_interface.hpp"
#include "hardware_interface/loaned_state_interface.hpp"
#include "pluginlib/class_loader.hpp"
#include "rclcpp/rclcpp.hpp"
#include "trajectory_msgs/msg/joint_trajectory.hpp"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace
{

thread_local bool counting = false;
std::atomic<long> allocations{0}, releases{0}, locks{0}, try_locks{0};

// -- system calls: the kernel signals each one of this thread (Linux 5.11 or newer) ---------------

constexpr int kDispatch = 59;  // PR_SET_SYSCALL_USER_DISPATCH
char selector = 0;             // 0: allow, 1: signal
long system_cycles = 0;
std::map<long, long> first_calls;
long first_call = -1;

void on_system_call(int, siginfo_t *, void * context)
{
  selector = 0;  // until the end of this update: the first call counts
  auto * registers = static_cast<ucontext_t *>(context)->uc_mcontext.gregs;
  first_call = registers[REG_RAX];
  registers[REG_RAX] = ::syscall(
    first_call, registers[REG_RDI], registers[REG_RSI], registers[REG_RDX], registers[REG_R10],
    registers[REG_R8], registers[REG_R9]);
  if (registers[REG_RAX] == -1) {
    registers[REG_RAX] = -errno;
  }
}

bool watch_system_calls()
{
  struct sigaction action = {};
  action.sa_sigaction = on_system_call;
  action.sa_flags = SA_SIGINFO;
  ::sigaction(SIGSYS, &action, nullptr);
  return ::prctl(kDispatch, 1, 0, 0, &selector) == 0;
}

// -- motion -------------------------------------------------------------------------------------

double sine(std::size_t joint, int derivative, double t)
{
  const double w = 1.0 + 0.2 * static_cast<double>(joint % 5), a = 0.3;
  switch (derivative) {
    case 0: return a * std::sin(w * t);
    case 1: return a * w * std::cos(w * t);
    default: return -a * w * w * std::sin(w * t);
  }
}

int derivative_of(const std::string & interface)
{
  return interface == "position" ? 0 : interface == "velocity" ? 1 :
         interface == "acceleration" ? 2 : -1;
}

struct Signal
{
  std::size_t joint;
  int derivative;
};

Signal signal_of(const std::string & name, std::map<std::string, std::size_t> & joints)
{
  const auto slash = name.rfind('/');
  std::string joint = name.substr(0, slash);
  joint = joint.substr(joint.rfind('/') + 1);
  return {joints.emplace(joint, joints.size()).first->second,
    derivative_of(name.substr(slash + 1))};
}

std::string read_file(const std::string & path)
{
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::shared_ptr<controller_interface::ControllerInterfaceBase> load(
  const std::string & type, std::vector<std::shared_ptr<void>> & keep)
{
  using controller_interface::ChainableControllerInterface;
  using controller_interface::ControllerInterface;
  auto plain = std::make_shared<pluginlib::ClassLoader<ControllerInterface>>(
    "controller_interface", "controller_interface::ControllerInterface");
  auto chainable = std::make_shared<pluginlib::ClassLoader<ChainableControllerInterface>>(
    "controller_interface", "controller_interface::ChainableControllerInterface");
  keep = {plain, chainable};
  if (plain->isClassAvailable(type)) {
    return plain->createSharedInstance(type);
  }
  return chainable->createSharedInstance(type);
}

}  // namespace

// -- calls that are counted: defined here, they take the place of those of the C library -----------

extern "C" {
void * __libc_malloc(size_t);
void * __libc_calloc(size_t, size_t);
void * __libc_realloc(void *, size_t);
void __libc_free(void *);

void * malloc(size_t size)
{
  allocations += counting;
  return __libc_malloc(size);
}

void * calloc(size_t count, size_t size)
{
  allocations += counting;
  return __libc_calloc(count, size);
}

void * realloc(void * memory, size_t size)
{
  allocations += counting;
  return __libc_realloc(memory, size);
}

void free(void * memory)
{
  releases += counting && memory != nullptr;
  __libc_free(memory);
}

#define COUNTED(name, type, counter) \
  int name(type * lock) \
  { \
    static const auto real = reinterpret_cast<int (*)(type *)>(dlsym(RTLD_NEXT, #name)); \
    counter += counting; \
    return real(lock); \
  }
COUNTED(pthread_mutex_lock, pthread_mutex_t, locks)
COUNTED(pthread_mutex_trylock, pthread_mutex_t, try_locks)
COUNTED(pthread_rwlock_rdlock, pthread_rwlock_t, locks)
COUNTED(pthread_rwlock_wrlock, pthread_rwlock_t, locks)
COUNTED(pthread_rwlock_tryrdlock, pthread_rwlock_t, try_locks)
COUNTED(pthread_rwlock_trywrlock, pthread_rwlock_t, try_locks)
}

int main(int argc, char ** argv)
{
  if (argc < 5) {
    std::fprintf(stderr, "usage: update_timing TYPE URDF CYCLES PARAMETERS.yaml\n");
    return 2;
  }
  rclcpp::init(1, argv);
  const std::string type = argv[1], urdf = read_file(argv[2]);
  const long cycles = std::atol(argv[3]);
  const unsigned int rate = 1000;

  std::vector<std::shared_ptr<void>> keep;
  auto controller = load(type, keep);
  controller_interface::ControllerInterfaceParams params;
  params.controller_name = "controller";
  params.robot_description = urdf;
  params.update_rate = params.controller_manager_update_rate = rate;
  params.node_options = controller->define_custom_node_options();
  params.node_options.arguments({"--ros-args", "--params-file", argv[4]});
  if (controller->init(params) != controller_interface::return_type::OK ||
    controller->configure().label() != "inactive")
  {
    std::fprintf(stderr, "%s cannot be configured\n", type.c_str());
    return 1;
  }

  // Interfaces as controller_manager lends them
  std::map<std::string, std::size_t> joints;
  std::vector<std::unique_ptr<double>> values;
  std::vector<std::pair<double *, Signal>> states;
  std::vector<hardware_interface::StateInterface::ConstSharedPtr> state_handles;
  std::vector<hardware_interface::CommandInterface::SharedPtr> command_handles;
  std::vector<hardware_interface::LoanedStateInterface> lent_states;
  std::vector<hardware_interface::LoanedCommandInterface> lent_commands;
  std::vector<double *> commands;
  const auto value = [&values](double initial) {
      values.push_back(std::make_unique<double>(initial));
      return values.back().get();
    };
  const auto split = [](const std::string & name) {
      const auto slash = name.rfind('/');
      return std::make_pair(name.substr(0, slash), name.substr(slash + 1));
    };
  for (const auto & name : controller->state_interface_configuration().names) {
    const auto [joint, interface] = split(name);
    states.emplace_back(value(0.0), signal_of(name, joints));
    state_handles.push_back(
      std::make_shared<const hardware_interface::StateInterface>(
        joint, interface, states.back().first));
    lent_states.emplace_back(state_handles.back(), []() {});
  }
  for (const auto & name : controller->command_interface_configuration().names) {
    const auto [joint, interface] = split(name);
    commands.push_back(value(0.0));
    command_handles.push_back(
      std::make_shared<hardware_interface::CommandInterface>(joint, interface, commands.back()));
    lent_commands.emplace_back(command_handles.back(), []() {});
  }
  std::vector<std::pair<hardware_interface::CommandInterface::SharedPtr, Signal>> references;
  if (controller->is_chainable()) {
    for (const auto & reference : controller->export_reference_interfaces()) {
      references.emplace_back(reference, signal_of(reference->get_name(), joints));
    }
    controller->set_chained_mode(true);
  }
  const auto start = rclcpp::Clock(RCL_ROS_TIME).now();
  const auto move = [&](double t) {
      for (auto & [memory, signal] : states) {
        *memory = signal.derivative < 0 ? 0.0 : sine(signal.joint, signal.derivative, t);
      }
      for (auto & [reference, signal] : references) {
        const double wanted = sine(signal.joint, std::max(0, signal.derivative), t + 1e-3);
        if (signal.derivative >= 0) {
          (void)reference->set_value(wanted);
        }
      }
    };
  move(0.0);
  controller->assign_interfaces(std::move(lent_commands), std::move(lent_states));
  if (controller->get_node()->activate().label() != "active") {
    std::fprintf(stderr, "%s cannot be activated\n", type.c_str());
    return 1;
  }

  // The trajectory of a controller that has a topic for one
  rclcpp::executors::SingleThreadedExecutor executor;
  executor.add_node(controller->get_node()->get_node_base_interface());
  auto sender = std::make_shared<rclcpp::Node>("sender");
  executor.add_node(sender);
  const auto publisher = sender->create_publisher<trajectory_msgs::msg::JointTrajectory>(
    "controller/joint_trajectory", 1);
  std::thread spinning([&executor]() {executor.spin();});
  const double step = 1.0 / rate, ahead = 0.2;
  if (controller->get_node()->has_parameter("interpolation_method")) {
    trajectory_msgs::msg::JointTrajectory motion;
    std::vector<std::string> names(joints.size());
    for (const auto & [name, k] : joints) {
      names[k] = name;
    }
    motion.joint_names = names;
    motion.header.stamp = start;
    const long points = static_cast<long>(2.0 * static_cast<double>(cycles) * step / ahead) + 100;
    for (long k = 0; k <= points; ++k) {
      trajectory_msgs::msg::JointTrajectoryPoint point;
      const double t = static_cast<double>(k) * ahead;
      point.time_from_start = rclcpp::Duration::from_seconds(t);
      for (std::size_t i = 0; i < names.size(); ++i) {
        point.positions.push_back(sine(i, 0, t));
        point.velocities.push_back(k == points ? 0.0 : sine(i, 1, t));
        point.accelerations.push_back(sine(i, 2, t));
      }
      motion.points.push_back(point);
    }
    while (publisher->get_subscription_count() == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    publisher->publish(motion);
    std::this_thread::sleep_for(std::chrono::seconds(2));
  }

  const auto period = rclcpp::Duration::from_seconds(step);
  std::vector<float> durations(static_cast<std::size_t>(cycles));
  long errors = 0;
  double checksum = 0.0;
  const auto cycle = [&](long k) {
      return start + rclcpp::Duration(std::chrono::nanoseconds(1000000L * k));
    };
  for (long k = 0; k < cycles; ++k) {
    if (k % 1000 == 0) {  // the kernel halts a real-time thread that never sleeps
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    move(static_cast<double>(k) * step);
    const auto time = cycle(k);
    const auto begin = std::chrono::steady_clock::now();
    const auto result = controller->update(time, period);
    const auto end = std::chrono::steady_clock::now();
    errors += result != controller_interface::return_type::OK;
    durations[static_cast<std::size_t>(k)] =
      static_cast<float>(std::chrono::duration<double, std::micro>(end - begin).count());
    checksum += *commands[0];
  }

  // Again, counted, in the cycles that follow
  const long counted = std::min(cycles, 100000L);
  const bool dispatch = watch_system_calls();
  for (long k = cycles; k < cycles + counted; ++k) {
    move(static_cast<double>(k) * step);
    const auto time = cycle(k);
    first_call = -1;
    counting = true;
    selector = dispatch ? 1 : 0;
    controller->update(time, period);
    selector = 0;
    counting = false;
    if (first_call >= 0) {
      ++system_cycles;
      ++first_calls[first_call];
    }
  }

  std::string calls = "{";
  for (const auto & [number, count] : first_calls) {
    calls += (calls.size() > 1 ? ", \"" : "\"") + std::to_string(number) + "\": " +
      std::to_string(count);
  }
  std::sort(durations.begin(), durations.end());
  const auto quantile = [&durations](double share) {
      return durations[static_cast<std::size_t>(share * static_cast<double>(durations.size() - 1))];
    };
  std::printf(
    "{\"type\": \"%s\", \"cycles\": %ld, \"median_us\": %.3f, \"p999_us\": %.3f, "
    "\"max_us\": %.3f, \"errors\": %ld, \"counted_cycles\": %ld, \"allocations\": %ld, "
    "\"releases\": %ld, \"locks\": %ld, \"try_locks\": %ld, \"cycles_with_system_calls\": %s, "
    "\"first_system_calls\": %s}, \"mean_command\": %.6g}\n",
    type.c_str(), cycles, quantile(0.5), quantile(0.999), quantile(1.0), errors, counted,
    allocations.load(), releases.load(), locks.load(), try_locks.load(),
    dispatch ? std::to_string(system_cycles).c_str() : "null", calls.c_str(),
    checksum / static_cast<double>(cycles));
  std::fflush(stdout);
  executor.cancel();
  spinning.join();
  std::_Exit(0);  // what follows would be the teardown of controllers, which is not measured
}
