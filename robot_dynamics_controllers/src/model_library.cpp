// Copyright (c) The robot_dynamics authors. SPDX-License-Identifier: Apache-2.0

#include "model_library.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <utility>

#include "refusal.hpp"

namespace robot_dynamics_controllers
{
namespace
{

constexpr off_t LARGEST_FILE = 256 << 20;  // bytes; a model of an arm has less than a MiB

std::string reason() { return std::strerror(errno); }

/// Refuse a file that another user may have written.
void check_owner(const std::string & model, const struct stat & status)
{
  if (!S_ISREG(status.st_mode)) {
    throw Refusal(model + " is no file; give one of `robot-dynamics export model`");
  }
  if (status.st_uid != ::geteuid() && status.st_uid != 0) {
    throw Refusal(
      model + " belongs to another user (number " + std::to_string(status.st_uid) +
      "); copy it, so that it is yours");
  }
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    throw Refusal(model + " may be written by others; take that away with chmod go-w");
  }
  if (status.st_size > LARGEST_FILE) {
    throw Refusal(model + " is too large for a model");
  }
}

/// Refuse a library that was cut off: the loader would end the process.
void check_length(const std::string & model, int file, off_t size)
{
  ElfW(Ehdr) head = {};
  const bool is_library = ::pread(file, &head, sizeof(head), 0) == sizeof(head) &&
                          std::memcmp(head.e_ident, ELFMAG, SELFMAG) == 0;
  // Linkers write the table of sections last
  if (is_library && head.e_shoff + head.e_shnum * sizeof(ElfW(Shdr)) > std::size_t(size)) {
    throw Refusal(model + " was cut off; copy it again");
  }
}

/// Copy an open file into another one; return whether that was possible.
bool copied(int from, int to, off_t size)
{
  off_t done = 0;
  while (to >= 0 && done < size) {
    if (::sendfile(to, from, &done, static_cast<std::size_t>(size - done)) <= 0) {
      return false;
    }
  }
  return to >= 0;
}

}  // namespace

ModelLibrary::ModelLibrary(const std::string & path)
: ModelLibrary()  // so that the destructor closes what is open when this throws
{
  if (path.empty()) {
    throw Refusal(
      "parameter 'model' is empty; give the file that `robot-dynamics export model` writes");
  }
  const std::string model = "model " + quoted(path);
  file_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat status = {};
  if (file_ < 0 || ::fstat(file_, &status) != 0) {
    throw Refusal(
      model + " cannot be read (" + reason() + "); write it with `robot-dynamics export model`");
  }
  check_owner(model, status);
  check_length(model, file_, status.st_size);
  memory_ = ::memfd_create("robot_dynamics_model", MFD_CLOEXEC);
  if (!copied(file_, memory_, status.st_size)) {
    throw Refusal(model + " cannot be read (" + reason() + ")");
  }
  // While it is open, no other library has this name, by which the loader knows what is loaded
  const std::string name = "/proc/self/fd/" + std::to_string(memory_);
  library_ = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library_ == nullptr) {
    throw Refusal(
      model + " cannot be loaded (" + ::dlerror() +
      "); write it on this computer with `robot-dynamics export model`");
  }
  model_ = static_cast<const Model *>(::dlsym(library_, ROBOT_DYNAMICS_MODEL_SYMBOL));
  if (model_ == nullptr) {
    throw Refusal(
      model + " is a library without a robot; write one with `robot-dynamics export model`");
  }
  if (model_->abi_version != ROBOT_DYNAMICS_ABI_VERSION || model_->size != sizeof(Model)) {
    throw Refusal(
      model + " has the interface " + std::to_string(model_->abi_version) + ", not " +
      std::to_string(ROBOT_DYNAMICS_ABI_VERSION) +
      "; write it again with the robot_dynamics of these controllers");
  }
}

ModelLibrary::~ModelLibrary()
{
  if (library_ != nullptr) {
    ::dlclose(library_);
  }
  for (const int number : {file_, memory_}) {
    if (number >= 0) {
      ::close(number);
    }
  }
}

const Field & field_of(const Layout & layout, const std::string & name)
{
  for (std::size_t i = 0; i < layout.field_count; ++i) {
    if (layout.fields[i].name == name) {
      return layout.fields[i];
    }
  }
  throw Refusal(
    "the model has no field " + quoted(name) +
    "; write it again with the robot_dynamics of these controllers");
}

std::vector<double> initial(const Layout & layout)
{
  return {layout.initial, layout.initial + layout.size};
}

std::vector<std::string> joint_names(const Model & model)
{
  std::vector<std::string> names;
  for (std::size_t i = 0; i < model.joint_count; ++i) {
    names.emplace_back(model.joints[i].name);
  }
  return names;
}

std::string unit(const Model & model, std::size_t joint, const std::string & quantity)
{
  for (std::size_t i = 0; i < model.quantity_count; ++i) {
    const robot_dynamics_quantity & known = model.quantities[i];
    if (quantity == known.name) {
      return model.joints[joint].rotates != 0 ? known.of_rotation : known.of_translation;
    }
  }
  return quantity;
}

std::string sentence(
  const Model & model, const robot_dynamics_cause & cause, double joint, double value, double limit)
{
  const std::size_t i = joint < 0.0 ? 0 : static_cast<std::size_t>(joint);
  const auto number = [&](double x, const char * quantity) {
    const std::string of = unit(model, i, quantity);
    const bool whole = std::abs(x) >= cause.whole_from && std::abs(x) < cause.whole_below;
    return text(x, whole ? "%.0f" : cause.format) + (of.empty() ? "" : " " + of);
  };
  const std::string remedy = cause.remedy;
  const std::string words = cause.text + (remedy.empty() ? "" : "; " + remedy);
  const std::pair<std::string, std::string> places[] = {
    {"{joint}", model.joints[i].name},
    {"{value}", number(value, cause.value_quantity)},
    {"{limit}", number(limit, cause.limit_quantity)}};
  std::string line;
  for (std::size_t at = 0; at < words.size();) {  // once, as names may hold the places too
    std::size_t next = at + 1;
    std::string part = words.substr(at, 1);
    for (const auto & [place, value_text] : places) {
      if (words.compare(at, place.size(), place) == 0) {
        next = at + place.size();
        part = value_text;
      }
    }
    line += part;
    at = next;
  }
  return line;
}

void throw_refusal(
  const Model & model, const std::vector<double> & result, const std::string & subject)
{
  const auto number = static_cast<std::size_t>(result[offset_of(model.refusal, "refused")]);
  if (number == 0) {
    return;
  }
  const robot_dynamics_cause & refusal = model.refusals[number];
  const std::string line = sentence(
    model, refusal, result[offset_of(model.refusal, "joint")],
    result[offset_of(model.refusal, "value")], result[offset_of(model.refusal, "limit")]);
  throw Refusal((subject.empty() ? "" : subject + ": ") + line);
}

std::string notice(const Model & model, const std::vector<double> & result)
{
  const auto number = static_cast<std::size_t>(result[offset_of(model.refusal, "noticed")]);
  const robot_dynamics_cause & noticed = model.refusals[number];
  const double joint = result[offset_of(model.refusal, "noticed_joint")];
  return number == 0 ? "" : sentence(model, noticed, joint, 0.0, 0.0);
}

}  // namespace robot_dynamics_controllers
