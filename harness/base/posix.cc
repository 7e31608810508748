// SPDX-License-Identifier: Apache-2.0
#include "base/posix.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>

namespace delaycc {

Error system_error(std::string_view call, std::string_view object, int error) {
  std::string text(call);
  text.append("(").append(object).append("): ").append(strerror(error));
  return Error(text);
}

Error system_error(std::string_view call, std::string_view object) {
  return system_error(call, object, errno);
}

Fd& Fd::operator=(Fd&& other) noexcept {
  if (this != &other) {
    reset();
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

void Fd::reset() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

Fd open_file(const std::string& path, int flags, unsigned mode) {
  int fd = ::open(path.c_str(), flags | O_CLOEXEC, mode);
  if (fd < 0) throw system_error("open", path);
  return Fd(fd);
}

namespace {

std::string read_all(const Fd& fd, const std::string& path, size_t most_bytes) {
  std::string text;
  char buffer[65536];
  for (;;) {
    ssize_t n = ::read(fd.get(), buffer, sizeof(buffer));
    if (n < 0) throw system_error("read", path);
    if (n == 0) return text;
    text.append(buffer, static_cast<size_t>(n));
    if (text.size() > most_bytes)
      throw Error(path + ": is larger than " + std::to_string(most_bytes >> 20) +
                  " MiB, the most that is read");
  }
}

}  // namespace

std::string read_file(const std::string& path) {
  return read_all(open_file(path, O_RDONLY), path, SIZE_MAX);
}

bool is_at_first(const std::string& first, const std::string& second) {
  const auto may_be_there = [](const std::string& path) {
    return access(path.c_str(), F_OK) == 0 || errno == EACCES;
  };
  return access(first.c_str(), F_OK) == 0 || (may_be_there(first) && !may_be_there(second));
}

std::string read_regular_file(const std::string& path, size_t most_bytes) {
  // A FIFO without a writer would block the open.
  const Fd fd = open_file(path, O_RDONLY | O_NONBLOCK);
  struct stat status = {};
  if (fstat(fd.get(), &status) < 0) throw system_error("fstat", path);
  if (!S_ISREG(status.st_mode)) throw Error(path + ": is not a regular file");
  return read_all(fd, path, most_bytes);
}

void read_exactly(const Fd& fd, const std::string& path, void* to, size_t bytes) {
  for (size_t done = 0; done < bytes;) {
    const ssize_t n = ::read(fd.get(), static_cast<char*>(to) + done, bytes - done);
    if (n < 0) throw system_error("read", path);
    if (n == 0)
      throw Error(path + ": ends after " + std::to_string(done) + " of " + std::to_string(bytes) +
                  " bytes");
    done += static_cast<size_t>(n);
  }
}

namespace {

void write_all(int fd, std::string_view text, const std::string& path) {
  while (!text.empty()) {
    ssize_t n = ::write(fd, text.data(), text.size());
    if (n < 0) throw system_error("write", path);
    text.remove_prefix(static_cast<size_t>(n));
  }
}

}  // namespace

std::string read_file_if_there(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored) ? read_file(path) : std::string();
}

void write_file(const std::string& path, std::string_view text) { write_file(path, {text}); }

void write_file(const std::string& path, std::initializer_list<std::string_view> parts) {
  Fd fd = open_file(path, O_WRONLY | O_CREAT | O_TRUNC);
  for (const std::string_view part : parts) write_all(fd.get(), part, path);
  // A network file system may say only now that the disk is full.
  if (::close(fd.release()) < 0) throw system_error("close", path);
}

void write_file_atomically(const std::string& path, std::string_view text) {
  const std::string fresh = path + ".new";
  try {
    write_file(fresh, text);
    if (::rename(fresh.c_str(), path.c_str()) < 0) throw system_error("rename", path);
  } catch (const Error&) {
    ::unlink(fresh.c_str());
    throw;
  }
}

int64_t monotonic_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

namespace {

std::string digits_of(const XXH128_hash_t& hash) {
  char text[33];
  snprintf(text, sizeof(text), "%016llx%016llx", static_cast<unsigned long long>(hash.high64),
           static_cast<unsigned long long>(hash.low64));
  return text;
}

}  // namespace

std::string hash_hex(std::string_view bytes) {
  return digits_of(XXH3_128bits(bytes.data(), bytes.size()));
}

std::string hash_file(const std::string& path) {
  constexpr size_t kPieceBytes = size_t{256} << 10;
  const Fd fd = open_file(path, O_RDONLY);
  const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state(XXH3_createState(),
                                                                       &XXH3_freeState);
  XXH3_128bits_reset(state.get());
  std::string piece(kPieceBytes, '\0');
  for (;;) {
    const ssize_t n = ::read(fd.get(), piece.data(), piece.size());
    if (n < 0) throw system_error("read", path);
    if (n == 0) return digits_of(XXH3_128bits_digest(state.get()));
    XXH3_128bits_update(state.get(), piece.data(), static_cast<size_t>(n));
  }
}

}  // namespace delaycc
