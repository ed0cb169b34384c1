//===- Fault.cpp - Faults of kpc's own ------------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/kpc/Fault.h"

#include "tools/kpc/Command.h"
#include "tools/kpc/Limits.h"
#include "tools/kpc/Version.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <execinfo.h>
#include <fcntl.h>
#include <filesystem>
#include <map>
#include <new>
#include <stdexcept>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace kpc::cli {

// A reproducer takes no more bytes of inputs than this.
static constexpr uintmax_t MostCopied = uintmax_t(16) << 20;

// As many reproducers stay; older ones are removed.
static constexpr size_t MostKept = 10;
static constexpr std::string_view FolderPrefix = "kpc-fault-";

// Filled before anything can go wrong: a signal handler may not allocate.
static std::string FolderPath, ScriptPath, ScriptText, ReplayText;
// Names the reproducers of this user, oldest first: a line each.
static std::string IndexPath, IndexLine;
namespace {
struct Copy {
  std::string From, To;
};
} // namespace
static std::vector<std::string> FoldersToMake;
static std::vector<Copy> Copies;

// What reproduceWith was told so far.
static std::map<std::string, std::string> CopiedArguments;
static std::string LeftOut; ///< lines of the script
static uintmax_t CopiedBytes;
static unsigned WrittenInputs;

std::string reproducerFolder() {
  const char *Folder = std::getenv("TMPDIR");
  return Folder && *Folder ? Folder : "/tmp";
}

static void say(std::string_view Text) {
  (void)!::write(STDERR_FILENO, Text.data(), Text.size());
}

static bool writeAll(int File, const char *Data, size_t Size) {
  while (Size) {
    ssize_t Written = ::write(File, Data, Size);
    if (Written <= 0)
      return false;
    Data += Written;
    Size -= size_t(Written);
  }
  return true;
}

static int create(const std::string &Path, mode_t Mode) {
  return ::open(Path.c_str(),
                O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, Mode);
}

static bool copyFile(const Copy &C) {
  static char Buffer[64 * 1024];
  int From = ::open(C.From.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  int To = create(C.To, 0600);
  ssize_t Read = From < 0 || To < 0 ? -1 : 1;
  while (Read > 0) {
    Read = ::read(From, Buffer, sizeof Buffer);
    if (Read > 0 && !writeAll(To, Buffer, size_t(Read)))
      Read = -1;
  }
  ::close(From);
  ::close(To);
  return Read == 0;
}

static int openIndex(int Flags) {
  return ::open(IndexPath.c_str(), Flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK,
                0600);
}

static bool writeReproducer() {
  for (const std::string &Folder : FoldersToMake)
    ::mkdir(Folder.c_str(), 0700);
  int Index = openIndex(O_WRONLY | O_CREAT | O_APPEND);
  if (Index >= 0)
    writeAll(Index, IndexLine.data(), IndexLine.size());
  ::close(Index);
  bool Good = true;
  for (const Copy &C : Copies)
    Good &= copyFile(C);
  int Script = create(ScriptPath, 0700);
  Good &= Script >= 0 && writeAll(Script, ScriptText.data(), ScriptText.size());
  ::close(Script);
  return Good;
}

/// Uses nothing that is not allowed in a signal handler.
static void writeReport(std::string_view What) {
  say("error[KPC-D0002]: a fault of kpc's own: ");
  say(What);
  say("\n");
  if (writeReproducer())
    say(ReplayText);
  say("  hint: please report this with the reproducer and the model\n");
}

static void onCrash(int Signal, siginfo_t *Info, void *) {
  if (Signal == SIGSEGV)
    endIfWithoutMemory(Info->si_addr);
  static volatile std::sig_atomic_t Again = 0;
  if (Again)
    ::_exit(InternalFault);
  Again = 1;
  writeReport(Signal == SIGABRT   ? "it aborted"
              : Signal == SIGSEGV ? "it reached memory that is not its own "
                                    "(signal 11)"
              : Signal == SIGFPE  ? "an arithmetic fault (signal 8)"
              : Signal == SIGILL  ? "an illegal instruction (signal 4)"
                                  : "a bus error (signal 7)");
  void *Frames[64];
  say("  where:\n");
  ::backtrace_symbols_fd(Frames, ::backtrace(Frames, 64), STDERR_FILENO);
  ::_exit(InternalFault);
}

static void setScript() {
  std::error_code Code;
  std::string Here = std::filesystem::current_path(Code).string();
  ScriptText = "#!/bin/sh\n# " + versionText() +
               " failed here. This does the same again.\n" + LeftOut +
               "here=$(cd \"$(dirname \"$0\")\" && pwd) || exit 1\n"
               "cd " +
               shellQuoted(Here) + " 2>/dev/null || cd \"$here\" || exit 1\n" +
               "exec " + commandLineText(CopiedArguments) + "\n";
}

void reproduceWith(const std::string &Path,
                   const std::vector<std::string> &Beside) {
  namespace fs = std::filesystem;
  std::string Folder = "input" + std::to_string(++WrittenInputs);
  std::vector<std::string> All = {Path};
  All.insert(All.end(), Beside.begin(), Beside.end());
  fs::path From = fs::path(Path).parent_path();
  FoldersToMake.push_back(FolderPath + "/" + Folder);
  bool Complete = true;
  for (const std::string &File : All) {
    std::error_code Code;
    uintmax_t Size = fs::file_size(File, Code);
    std::string Name =
        fs::path(File).lexically_relative(From).lexically_normal().string();
    if (Code) // there is none: so it will be again
      continue;
    // A text may name any file; copies stay in the reproducer's folder.
    bool Outside = Name.empty() || Name.starts_with("..");
    if (Outside || Size > MostCopied - CopiedBytes) {
      LeftOut += (Outside ? "# Not copied: "
                          : "# Too large for a copy at " + Folder + "/" +
                                printable(Name, 4096) + ": ") +
                 printable(fs::absolute(File, Code).string(), 4096) + "\n";
      Complete = false;
      continue;
    }
    CopiedBytes += Size;
    for (size_t At = Name.find('/'); At != std::string::npos;
         At = Name.find('/', At + 1))
      FoldersToMake.push_back(FolderPath + "/" + Folder + "/" +
                              Name.substr(0, At));
    Copies.push_back({File, FolderPath + "/" + Folder + "/" + Name});
  }
  if (Complete && !Copies.empty())
    CopiedArguments[Path] = "\"$here\"/" + Folder + "/" +
                            shellQuoted(fs::path(Path).filename().string());
  setScript();
}

static bool isOwn(const struct stat &S, mode_t Type) {
  return S.st_uid == ::geteuid() && (S.st_mode & S_IFMT) == Type;
}

/// The lines of the index; none where it is not this user's own file, or is
/// not like one that kpc writes.
static std::vector<std::string> readIndex() {
  std::vector<std::string> Lines;
  int File = openIndex(O_RDONLY);
  struct stat S{};
  if (File < 0)
    return Lines;
  std::string Text(64 * 1024, '\0');
  bool Own = ::fstat(File, &S) == 0 && isOwn(S, S_IFREG);
  ssize_t Read = Own ? ::read(File, Text.data(), Text.size()) : 0;
  ::close(File);
  Text.resize(Read > 0 ? size_t(Read) : 0);
  for (size_t At = 0, End; (End = Text.find('\n', At)) != std::string::npos;
       At = End + 1) {
    std::string Line = Text.substr(At, End - At);
    if (!Line.starts_with(FolderPrefix) || Line.size() == FolderPrefix.size() ||
        Line.find_first_not_of("0123456789", FolderPrefix.size()) !=
            std::string::npos)
      return {};
    Lines.push_back(Line);
  }
  return Lines;
}

/// A process that fails cannot remove what others left: it does nothing that
/// needs memory. The next one does.
static void removeOldReproducers() {
  std::vector<std::string> Lines = readIndex();
  if (Lines.size() <= MostKept)
    return;
  std::vector<std::string> Kept(Lines.end() - MostKept, Lines.end());
  std::string Text;
  for (const std::string &Line : Kept)
    Text += Line + "\n";
  for (size_t I = 0; I + MostKept < Lines.size(); ++I) {
    std::string Folder = reproducerFolder() + "/" + Lines[I];
    struct stat S{};
    std::error_code Ignored;
    if (std::find(Kept.begin(), Kept.end(), Lines[I]) == Kept.end() &&
        ::lstat(Folder.c_str(), &S) == 0 && isOwn(S, S_IFDIR))
      std::filesystem::remove_all(Folder, Ignored);
  }
  int File = openIndex(O_WRONLY | O_TRUNC);
  if (File >= 0)
    writeAll(File, Text.data(), Text.size());
  ::close(File);
}

void catchFaults() {
  IndexLine = std::string(FolderPrefix) + std::to_string(::getpid());
  FolderPath = reproducerFolder() + "/" + IndexLine;
  IndexLine += "\n";
  IndexPath = reproducerFolder() + "/kpc-faults-" + std::to_string(::geteuid());
  removeOldReproducers();
  ScriptPath = FolderPath + "/replay.sh";
  FoldersToMake = {FolderPath};
  setScript();
  ReplayText =
      "  reproducer: " + FolderPath + "\n  replay: sh " + ScriptPath + "\n";
  // The first call loads a library, which a signal handler may not do.
  void *Frame;
  ::backtrace(&Frame, 1);
  // A stack that ran over needs another one for the handler.
  static char Stack[64 * 1024];
  stack_t Alternative{};
  Alternative.ss_sp = Stack;
  Alternative.ss_size = sizeof(Stack);
  ::sigaltstack(&Alternative, nullptr);
  struct sigaction Act{};
  Act.sa_sigaction = onCrash;
  Act.sa_flags = SA_ONSTACK | SA_SIGINFO;
  ::sigemptyset(&Act.sa_mask);
  for (int Signal : {SIGABRT, SIGSEGV, SIGFPE, SIGILL, SIGBUS})
    ::sigaction(Signal, &Act, nullptr);
}

int reportFault(std::string_view What) {
  writeReport(What);
  return InternalFault;
}

void crashForTesting(bool InWorker) {
  const char *Asked = std::getenv("KPC_CRASH_FOR_TESTING");
  std::string_view Kind = Asked ? Asked : "";
  bool ForWorker = Kind == "worker" || Kind == "hang" || Kind == "malloc";
  if (Kind.empty() || InWorker != ForWorker)
    return;
  while (Kind == "hang")
    ::pause();
  if (Kind == "malloc") { // as code does that does not look at what it is given
    for (size_t Bytes = size_t(1) << 24; Bytes >= 16; Bytes /= 2)
      while (void *More = std::malloc(Bytes))
        static_cast<volatile char *>(More)[0] = 0;
    static_cast<volatile char *>(std::malloc(size_t(1) << 24))[0] = 0;
  }
  if (Kind == "segv")
    ::raise(SIGSEGV);
  if (Kind == "throw")
    throw std::runtime_error("asked for by KPC_CRASH_FOR_TESTING");
  if (Kind == "memory")
    throw std::bad_alloc();
  std::abort();
}

} // namespace kpc::cli
