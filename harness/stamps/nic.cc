// SPDX-License-Identifier: Apache-2.0
#include "stamps/nic.h"

#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/net_tstamp.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>

namespace delaycc {
namespace {

Fd ioctl_socket() {
  Fd fd(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!fd) throw system_error("socket", "UDP");
  return fd;
}

ifreq request_for(const std::string& device, void* data) {
  ifreq request = {};
  snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", device.c_str());
  request.ifr_data = static_cast<char*>(data);
  return request;
}

void need_device(const std::string& device) {
  if (device.empty() || device.size() >= IFNAMSIZ || if_nametoindex(device.c_str()) == 0)
    throw Error(device + ": there is no such network device here");
}

// 0, or the error's number. `config` becomes what the driver has made of it.
int set_config(int fd, const std::string& device, StampConfig* config) {
  hwtstamp_config wanted = {0, config->tx_type, config->rx_filter};
  ifreq request = request_for(device, &wanted);
  if (ioctl(fd, SIOCSHWTSTAMP, &request) < 0) return errno;
  *config = {wanted.tx_type, wanted.rx_filter};
  return 0;
}

// 0, or the error's number.
int get_config(int fd, const std::string& device, StampConfig* config) {
  hwtstamp_config found = {};
  ifreq request = request_for(device, &found);
  if (ioctl(fd, SIOCGHWTSTAMP, &request) < 0) return errno;
  *config = {found.tx_type, found.rx_filter};
  return 0;
}

}  // namespace

StampClaims read_stamp_claims(const std::string& device) {
  need_device(device);
  const Fd fd = ioctl_socket();
  ethtool_ts_info info = {};
  info.cmd = ETHTOOL_GET_TS_INFO;
  ifreq request = request_for(device, &info);
  if (ioctl(fd.get(), SIOCETHTOOL, &request) < 0) throw system_error("ETHTOOL_GET_TS_INFO", device);
  const bool raw = info.so_timestamping & SOF_TIMESTAMPING_RAW_HARDWARE;
  StampClaims claims;
  claims.tx_hardware = raw && (info.so_timestamping & SOF_TIMESTAMPING_TX_HARDWARE) &&
                       (info.tx_types & (1U << HWTSTAMP_TX_ON));
  claims.rx_hardware = raw && (info.so_timestamping & SOF_TIMESTAMPING_RX_HARDWARE) &&
                       (info.rx_filters & (1U << HWTSTAMP_FILTER_ALL));
  claims.tx_software = info.so_timestamping & SOF_TIMESTAMPING_TX_SOFTWARE;
  claims.phc_index = info.phc_index;
  return claims;
}

std::optional<StampConfig> read_stamp_config(const std::string& device) {
  need_device(device);
  const Fd fd = ioctl_socket();
  StampConfig config;
  if (get_config(fd.get(), device, &config) != 0) return std::nullopt;
  return config;
}

int write_stamp_config(const std::string& device, StampConfig* config) {
  need_device(device);
  return set_config(ioctl_socket().get(), device, config);
}

StampsLock::StampsLock(const std::string& device)
    // A name in the namespace's own list of abstract sockets goes with the process, and with its
    // guard.
    : socket_(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
  need_device(device);
  if (!socket_) throw system_error("socket", "AF_UNIX");
  sockaddr_un name = {};
  name.sun_family = AF_UNIX;
  const std::string text = "delaycc-stamps-" + device;
  memcpy(name.sun_path + 1, text.data(), text.size());
  if (bind(socket_.get(), reinterpret_cast<const sockaddr*>(&name),
           static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size())) < 0) {
    if (errno == EADDRINUSE) throw Error(device + ": another delaycc uses its time stamps");
    throw system_error("bind", text);
  }
}

NicStamping::NicStamping(const std::string& device)
    : device_(device), lock_(device), socket_(ioctl_socket()) {
  StampConfig found;
  const int untold = get_config(socket_.get(), device, &found);
  StampConfig config = {HWTSTAMP_TX_ON, HWTSTAMP_FILTER_ALL};
  if (untold == 0 && found == config) {
    tx_ = rx_ = true;
    return;
  }
  // The guard is there before anything changes. What a driver does not tell was off.
  before_ = untold == 0 ? found : StampConfig{HWTSTAMP_TX_OFF, HWTSTAMP_FILTER_NONE};
  start_guard();
  int error = set_config(socket_.get(), device, &config);
  if (error == ERANGE || error == EINVAL) {
    config = {HWTSTAMP_TX_ON, found.rx_filter};
    error = set_config(socket_.get(), device, &config);
  }
  StampConfig now = config;
  if (error == 0) get_config(socket_.get(), device, &now);
  if (error != 0) {
    end_guard();
    before_.reset();
    now = found;
  }
  tx_ = now.tx_type == HWTSTAMP_TX_ON;
  rx_ = now.rx_filter == HWTSTAMP_FILTER_ALL;
  if (error == EPERM)
    trouble_ = "only root may switch its hardware stamps on";
  else if (error == EOPNOTSUPP || error == ENOTTY || error == EINVAL)
    trouble_ = "it has no hardware stamps";
  else if (error != 0)
    trouble_ = std::string("its driver refuses hardware stamps: ") + strerror(error);
  else if (!rx_)
    trouble_ = "its driver refuses to stamp every packet that comes";
}

NicStamping::~NicStamping() {
  if (const std::string trouble = restore(); !trouble.empty())
    fprintf(stderr, "delaycc: %s\n", trouble.c_str());
}

std::string NicStamping::restore() {
  if (!before_) return "";
  StampConfig config = *before_;
  before_.reset();
  tx_ = rx_ = false;
  const int error = set_config(socket_.get(), device_, &config);
  end_guard();
  return error == 0 ? "" : device_ + ": its time stamps could not be set back: " + strerror(error);
}

void NicStamping::start_guard() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) < 0) throw system_error("pipe", "guard");
  Fd read_end(ends[0]), write_end(ends[1]);
  guard_ = fork();
  if (guard_ < 0) throw system_error("fork", "guard");
  if (guard_ == 0) {
    // Neither ^C nor the end of the session is for it. Nothing here allocates.
    setsid();
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, nullptr);
    write_end.reset();
    // Whoever reads what this process prints is not to wait for the guard.
    const int nothing = open("/dev/null", O_RDWR);
    for (int fd = 0; fd <= STDERR_FILENO && nothing >= 0; fd++) dup2(nothing, fd);
    char word;
    ssize_t n;
    while ((n = read(read_end.get(), &word, 1)) < 0 && errno == EINTR) {
    }
    if (n == 0) {
      set_config(socket_.get(), device_, &*before_);
    }
    _exit(0);
  }
  guard_pipe_ = std::move(write_end);
}

void NicStamping::end_guard() {
  if (guard_ < 0) return;
  const char word = 0;
  while (write(guard_pipe_.get(), &word, 1) < 0 && errno == EINTR) {
  }
  guard_pipe_.reset();
  while (waitpid(guard_, nullptr, 0) < 0 && errno == EINTR) {
  }
  guard_ = -1;
}

}  // namespace delaycc
