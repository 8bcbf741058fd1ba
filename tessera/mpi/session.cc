// SPDX-License-Identifier: Apache-2.0
#include "tessera/mpi/session.h"

#include <sched.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <utility>

#include "tessera/base/text.h"
#include "tessera/mpi/watch.h"

namespace tessera::mpi {
namespace {

/// An error in a small fixed number of bytes that ranks can send.
struct PlainError {
  ErrorCode code = ErrorCode::kIo;
  std::array<char, 400> message{};
  std::array<char, 400> help{};
};

template <std::size_t kSize>
void fill(std::array<char, kSize>& to, std::string_view text) {
  std::copy_n(text.begin(), std::min(text.size(), kSize - 1), to.begin());
}

Error mpi_error(int code, std::string_view call) {
  std::array<char, MPI_MAX_ERROR_STRING + 1> text{};
  int length = 0;
  if (MPI_Error_string(code, text.data(), &length) != MPI_SUCCESS) length = 0;
  return Error{ErrorCode::kIo,
               cat(call, " failed with ", code, ": ",
                   printable({text.data(), static_cast<std::size_t>(length)})),
               std::nullopt, "see the output of MPI itself"};
}

}  // namespace

Result<std::shared_ptr<Session>> Session::begin(const MpiOptions& options, int part) {
  int begun = 0;
  int ended = 0;
  if (MPI_Initialized(&begun) != MPI_SUCCESS || MPI_Finalized(&ended) != MPI_SUCCESS || ended) {
    return Error{ErrorCode::kIo, "MPI has been finalised in this process", std::nullopt,
                 "make one exchange per process, or initialise MPI before the first"};
  }
  std::shared_ptr<Session> session(new Session(options));
  const Watch watch(options, "MPI has not started");
  if (!begun) {
    // Workers of a thread pool run beside the one thread that calls MPI.
    int provided = MPI_THREAD_SINGLE;
    const int code = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
    TESSERA_CHECK_OK(session->answer(code, "MPI_Init_thread"));
    session->began_ = true;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  }
  for (MPI_Comm* own : {&session->packets_, &session->notes_}) {
    TESSERA_CHECK_OK(session->answer(MPI_Comm_dup(MPI_COMM_WORLD, own), "MPI_Comm_dup"));
    MPI_Comm_set_errhandler(*own, MPI_ERRORS_RETURN);
  }
  MPI_Comm_rank(session->packets_, &session->rank_);
  MPI_Comm_size(session->packets_, &session->ranks_);
  int* most = nullptr;
  int known = 0;
  MPI_Comm_get_attr(session->packets_, MPI_TAG_UB, static_cast<void*>(&most), &known);
  if (known) session->most_tag_ = *most;
  TESSERA_CHECK_OK(session->find_near(part));
  return session;
}

Status Session::find_near(int part) {
  MPI_Comm whole = MPI_COMM_NULL;
  TESSERA_CHECK_OK(
      answer(MPI_Comm_split_type(packets_, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &whole),
             "MPI_Comm_split_type"));
  TESSERA_CHECK_OK(answer(MPI_Comm_split(whole, part, rank_, &machine_), "MPI_Comm_split"));
  TESSERA_CHECK_OK(answer(MPI_Comm_free(&whole), "MPI_Comm_free"));
  MPI_Comm_set_errhandler(machine_, MPI_ERRORS_RETURN);

  TESSERA_TRY(const bool agreed, alike({options_.shared_memory ? 1 : 0}));
  if (!agreed) {
    return Error{ErrorCode::kPlansDiffer, "shared memory is enabled on some ranks only",
                 std::nullopt, "give all ranks the same options"};
  }

  seat_of_.assign(static_cast<std::size_t>(ranks_), -1);
  if (options_.shared_memory) {
    int near = 1;
    MPI_Comm_size(machine_, &near);
    near_.resize(static_cast<std::size_t>(near));
    MPI_Request request = MPI_REQUEST_NULL;
    TESSERA_CHECK_OK(
        answer(MPI_Iallgather(&rank_, 1, MPI_INT, near_.data(), 1, MPI_INT, machine_, &request),
               "MPI_Iallgather"));
    TESSERA_CHECK_OK(finish(request, "MPI_Iallgather"));
  } else {
    near_ = {rank_};
  }
  for (std::size_t seat = 0; seat < near_.size(); ++seat) {
    seat_of_[static_cast<std::size_t>(near_[seat])] = static_cast<int>(seat);
  }
  return ok_status();
}

Session::~Session() {
  int ended = 0;
  if (MPI_Finalized(&ended) != MPI_SUCCESS || ended) return;
  if (!dead_) sweep();
  if (!dead_ && began_) {
    const Watch watch(options_, "MPI has not ended");
    MPI_Finalize();
    return;
  }
  // If this session did not initialise MPI, the communicators stay: freeing them is collective, and
  // ranks may end at different times or not at all. MPI may still write into the memory of messages
  // in flight, so that memory stays as well.
  if (!kept_.empty()) static_cast<void>(new std::vector<Kept>(std::move(kept_)));
}

int Session::new_tag() {
  const int tag = tags_;
  tags_ = tags_ == most_tag_ ? 0 : tags_ + 1;
  return tag;
}

Status Session::alive() const {
  if (!dead_) return ok_status();
  return Error{ErrorCode::kIo, "MPI has failed before, or was abandoned", std::nullopt,
               "end the program"};
}

Status Session::answer(int code, std::string_view call) {
  if (code == MPI_SUCCESS) return ok_status();
  dead_ = true;
  return mpi_error(code, call);
}

Status Session::finish(MPI_Request& request, std::string_view call) {
  int done = 0;
  while (true) {
    TESSERA_CHECK_OK(answer(MPI_Test(&request, &done, MPI_STATUS_IGNORE), call));
    if (done) return ok_status();
    ::sched_yield();
  }
}

Status Session::settle(const Status& mine) {
  const int bad = mine.ok() ? ranks_ : rank_;
  int first = ranks_;
  MPI_Request request = MPI_REQUEST_NULL;
  TESSERA_CHECK_OK(answer(MPI_Iallreduce(&bad, &first, 1, MPI_INT, MPI_MIN, packets_, &request),
                          "MPI_Iallreduce"));
  TESSERA_CHECK_OK(finish(request, "MPI_Iallreduce"));
  if (first == ranks_) return ok_status();

  PlainError error;
  if (rank_ == first) {
    error.code = mine.error().code;
    fill(error.message, mine.error().message);
    fill(error.help, mine.error().help);
  }
  TESSERA_CHECK_OK(
      answer(MPI_Ibcast(&error, sizeof error, MPI_BYTE, first, packets_, &request), "MPI_Ibcast"));
  TESSERA_CHECK_OK(finish(request, "MPI_Ibcast"));
  return Error{error.code, cat("rank ", first, ": ", error.message.data()), std::nullopt,
               error.help.data()};
}

Result<bool> Session::alike(std::vector<std::int64_t> numbers) {
  // The largest of x and of -1 - x, which fits as well: all are equal when both give the same x.
  const std::size_t count = numbers.size();
  for (std::size_t i = 0; i < count; ++i) numbers.push_back(-1 - numbers[i]);
  std::vector<std::int64_t> largest(numbers.size());
  MPI_Request request = MPI_REQUEST_NULL;
  TESSERA_CHECK_OK(
      answer(MPI_Iallreduce(numbers.data(), largest.data(), static_cast<int>(numbers.size()),
                            MPI_INT64_T, MPI_MAX, packets_, &request),
             "MPI_Iallreduce"));
  TESSERA_CHECK_OK(finish(request, "MPI_Iallreduce"));
  for (std::size_t i = 0; i < count; ++i) {
    if (largest[i] != -1 - largest[count + i]) return false;
  }
  return true;
}

void Session::keep(std::vector<MPI_Request> requests, std::shared_ptr<void> memory) {
  kept_.push_back({std::move(requests), std::move(memory)});
}

void Session::sweep() {
  std::erase_if(kept_, [](Kept& kept) {
    int done = 0;
    const int code = MPI_Testall(static_cast<int>(kept.requests.size()), kept.requests.data(),
                                 &done, MPI_STATUSES_IGNORE);
    return code == MPI_SUCCESS && done;
  });
}

void Session::abandon(int status) {
  dead_ = true;
  MPI_Abort(MPI_COMM_WORLD, status);
}

}  // namespace tessera::mpi
