// The log of CompiledPlant: see plant_log.py.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>

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

}  // namespace compiled_plant
