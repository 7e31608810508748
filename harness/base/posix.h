// SPDX-License-Identifier: Apache-2.0
// Small owners of system resources, and errors that name the call that failed.
#ifndef DELAYCC_HARNESS_BASE_POSIX_H_
#define DELAYCC_HARNESS_BASE_POSIX_H_

#include <cstdint>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace delaycc {

// Anything that stops an experiment; what() is a whole sentence for the user.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The work was stopped by request.
class Interrupted : public Error {
 public:
  Interrupted() : Error("interrupted") {}
};

// "call(object): strerror(error)". `error` is an errno value.
Error system_error(std::string_view call, std::string_view object, int error);
// The same with the current errno.
Error system_error(std::string_view call, std::string_view object);

// An owned file descriptor.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept;
  ~Fd() { reset(); }

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  void reset();
  // Gives it up: the caller closes it.
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_ = -1;
};

// open(2) with O_CLOEXEC; throws Error naming the path.
Fd open_file(const std::string& path, int flags, unsigned mode = 0644);

// The whole file; throws Error naming the path.
std::string read_file(const std::string& path);

// The same of a file that a user names: throws Error for a folder, a FIFO or a device, and for one
// of more than `most_bytes`. Waits for nobody.
std::string read_regular_file(const std::string& path, size_t most_bytes);

// Which of two places holds something: whether it is the first. Where this user may not look into
// the first it is, unless the second holds it or may not be looked into either. Whoever opens it
// then says that the permission is missing, not the file.
bool is_at_first(const std::string& first, const std::string& second);

// Reads `bytes` bytes from where `fd` stands; throws Error naming the path, also when the file ends
// before.
void read_exactly(const Fd& fd, const std::string& path, void* to, size_t bytes);

// The same of a regular file; "" where there is none.
std::string read_file_if_there(const std::string& path);

// Writes a new file or the value of an existing one (sysctl); throws Error naming the path.
void write_file(const std::string& path, std::string_view text);
// The same of several parts, one behind the other.
void write_file(const std::string& path, std::initializer_list<std::string_view> parts);

// Writes beside `path` and renames over it, so that a reader sees the old file or the new one.
// Where that fails (a full disk), the old file stays as it was.
void write_file_atomically(const std::string& path, std::string_view text);

// CLOCK_MONOTONIC in nanoseconds.
int64_t monotonic_ns();

// 128 bits of XXH3 as 32 hexadecimal digits; for cache keys, not for security.
std::string hash_hex(std::string_view bytes);
// The same of a file's content, which is read in pieces; throws Error naming the path.
std::string hash_file(const std::string& path);

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_BASE_POSIX_H_
