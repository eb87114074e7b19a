// CompiledPlant: a hardware component that integrates the forward dynamics of an arm.
//
// Parameters and log: see __init__.py and plant_log.py of this folder.
#include "compiled_plant.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "hardware_interface/system_interface.hpp"
#include "hardware_interface/types/hardware_interface_type_values.hpp"
#include "pluginlib/class_list_macros.hpp"

// The interfaces with pointers work in all versions of Jazzy
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace compiled_plant
{

// Cycles in a mapped file: what has been written lasts when the process is killed.
class Log
{
public:
  static constexpr std::int64_t kMagic = 0x504c414e54303031;  // "PLANT001"

  Log(const std::string & path, std::size_t width, std::size_t rows)
  : width_(width), rows_(rows), bytes_(sizeof(Header) + rows * width * sizeof(double))
  {
    const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0644);
    if (file < 0 || ::ftruncate(file, static_cast<off_t>(bytes_)) != 0) {
      throw std::runtime_error("log: cannot write " + path);
    }
    void * memory =
      ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file, 0);
    ::close(file);
    if (memory == MAP_FAILED) {
      throw std::runtime_error("log: cannot map " + path);
    }
    header_ = static_cast<Header *>(memory);
    row_ = reinterpret_cast<double *>(header_ + 1);
    *header_ = Header{
      kMagic, static_cast<std::int64_t>(width), static_cast<std::int64_t>(rows), 0, now()};
  }

  ~Log() {::munmap(header_, bytes_);}

  double elapsed() const {return 1e-9 * static_cast<double>(now() - header_->start);}

  // The next row, or none when the file is full; `commit` counts it
  double * row()
  {
    const auto k = static_cast<std::size_t>(header_->count);
    return k < rows_ ? row_ + k * width_ : nullptr;
  }

  void commit() {__atomic_store_n(&header_->count, header_->count + 1, __ATOMIC_RELEASE);}

private:
  struct Header
  {
    std::int64_t magic, width, rows, count, start;
  };

  // System time, ns: that of the stamps of ROS messages
  static std::int64_t now()
  {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
      std::chrono::system_clock::now().time_since_epoch()).count();
  }

  std::size_t width_, rows_, bytes_;
  Header * header_;
  double * row_;
};

class CompiledPlant : public hardware_interface::SystemInterface
{
public:
  hardware_interface::CallbackReturn on_init(const hardware_interface::HardwareInfo & info) override
  {
    using hardware_interface::CallbackReturn;
    if (hardware_interface::SystemInterface::on_init(info) != CallbackReturn::SUCCESS) {
      return CallbackReturn::ERROR;
    }
    try {
      const Parameters parameters{
        numbers("initial_positions"), numbers("effort"), numbers("lower"), numbers("upper"),
        numbers("viscous"), numbers("coulomb")};
      arm_ = std::make_unique<Arm>(kernel(text("kernel")), parameters);
      nan_file_ = text("nan_file");
      on_stop_ = text("on_stop");
      rows_ = static_cast<std::size_t>(std::stoul(text("log_rows")));
    } catch (const std::exception & error) {
      RCLCPP_FATAL(rclcpp::get_logger("CompiledPlant"), "%s", error.what());
      return CallbackReturn::ERROR;
    }
    const std::size_t n = info_.joints.size();
    position_ = arm_->q;
    velocity_.assign(n, 0.0);
    effort_.assign(n, 0.0);
    command_.assign(n, std::numeric_limits<double>::quiet_NaN());
    return CallbackReturn::SUCCESS;
  }

  std::vector<hardware_interface::StateInterface> export_state_interfaces() override
  {
    std::vector<hardware_interface::StateInterface> states;
    for (std::size_t i = 0; i < info_.joints.size(); ++i) {
      const std::string & name = info_.joints[i].name;
      states.emplace_back(name, hardware_interface::HW_IF_POSITION, &position_[i]);
      states.emplace_back(name, hardware_interface::HW_IF_VELOCITY, &velocity_[i]);
      states.emplace_back(name, hardware_interface::HW_IF_EFFORT, &effort_[i]);
    }
    return states;
  }

  std::vector<hardware_interface::CommandInterface> export_command_interfaces() override
  {
    std::vector<hardware_interface::CommandInterface> commands;
    for (std::size_t i = 0; i < info_.joints.size(); ++i) {
      commands.emplace_back(
        info_.joints[i].name, hardware_interface::HW_IF_EFFORT, &command_[i]);
    }
    return commands;
  }

  hardware_interface::CallbackReturn on_activate(const rclcpp_lifecycle::State &) override
  {
    if (!log_) {
      log_ = std::make_unique<Log>(text("log"), kFields + 4 * arm_->q.size(), rows_);
    }
    return hardware_interface::CallbackReturn::SUCCESS;
  }

  hardware_interface::return_type perform_command_mode_switch(
    const std::vector<std::string> &, const std::vector<std::string> & stopped) override
  {
    if (!stopped.empty() && on_stop_ == "brake") {
      arm_->brake();
      std::fill(command_.begin(), command_.end(), std::numeric_limits<double>::quiet_NaN());
    }
    if (!stopped.empty() && on_stop_ == "zero") {
      arm_->zero();
    }
    return hardware_interface::return_type::OK;
  }

  hardware_interface::return_type read(
    const rclcpp::Time &, const rclcpp::Duration & period) override
  {
    period_ = period.seconds();
    arm_->step(std::clamp(period_, 0.0, kLongestPeriod));
    blind_ = !nan_file_.empty() && ::access(nan_file_.c_str(), F_OK) == 0;
    for (std::size_t i = 0; i < arm_->q.size(); ++i) {
      const double nan = std::numeric_limits<double>::quiet_NaN();
      position_[i] = blind_ ? nan : arm_->q[i];
      velocity_[i] = blind_ ? nan : arm_->qd[i];
      effort_[i] = blind_ ? nan : arm_->tau[i];
    }
    read_ = log_ ? log_->elapsed() : 0.0;
    return hardware_interface::return_type::OK;
  }

  hardware_interface::return_type write(const rclcpp::Time &, const rclcpp::Duration &) override
  {
    arm_->command(command_.data());
    double * row = log_ ? log_->row() : nullptr;
    if (row != nullptr) {
      const std::size_t n = arm_->q.size();
      row[0] = read_;
      row[1] = period_;
      row[2] = log_->elapsed() - read_;  // what the controllers took
      row[3] = (arm_->braked() ? 1.0 : 0.0) + (blind_ ? 2.0 : 0.0);
      row += kFields;
      for (const auto * values : {&arm_->q, &arm_->qd, &command_, &arm_->tau}) {
        row = std::copy(values->begin(), values->begin() + static_cast<std::ptrdiff_t>(n), row);
      }
      log_->commit();
    }
    return hardware_interface::return_type::OK;
  }

private:
  static constexpr std::size_t kFields = 4;
  // An arm moves on while its computer is late; beyond this, s, its clock was set
  static constexpr double kLongestPeriod = 1.0;

  std::string text(const std::string & name) const
  {
    const auto found = info_.hardware_parameters.find(name);
    return found == info_.hardware_parameters.end() ? std::string() : found->second;
  }

  std::vector<double> numbers(const std::string & name) const
  {
    std::istringstream words(text(name));
    std::vector<double> values;
    for (std::string word; words >> word; ) {
      values.push_back(std::stod(word));  // reads "inf", which >> does not
    }
    if (values.size() != info_.joints.size()) {
      throw std::runtime_error(
        name + ": got " + std::to_string(values.size()) + " numbers for " +
        std::to_string(info_.joints.size()) + " joints");
    }
    return values;
  }

  static Forward kernel(const std::string & path)
  {
    void * library = ::dlopen(path.c_str(), RTLD_NOW);
    void * symbol = library != nullptr ? ::dlsym(library, "plant_forward") : nullptr;
    if (symbol == nullptr) {
      throw std::runtime_error("kernel: " + std::string(::dlerror()));
    }
    return reinterpret_cast<Forward>(symbol);
  }

  std::unique_ptr<Arm> arm_;
  std::unique_ptr<Log> log_;
  std::vector<double> position_, velocity_, effort_, command_;
  std::string nan_file_, on_stop_;
  std::size_t rows_ = 0;
  double period_ = 0.0, read_ = 0.0;
  bool blind_ = false;
};

}  // namespace compiled_plant

PLUGINLIB_EXPORT_CLASS(compiled_plant::CompiledPlant, hardware_interface::SystemInterface)
