//===- CacheTest.cpp - Tests of the on-disk cache -------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/cache/Cache.h"
#include "compiler/workers/Subprocess.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SHA256.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace kpc;
namespace fs = std::filesystem;

static std::string key(int I) { return CacheKey("test").add(I).digest(); }

static std::string entry(const TemporaryFolder &T, int I) {
  return T.path() + "/" + key(I).substr(0, 2) + "/" + key(I).substr(2);
}

static void setAge(const std::string &Path, int Seconds) {
  fs::last_write_time(Path, fs::file_time_type::clock::now() -
                                std::chrono::seconds(Seconds));
}

TEST(CacheKey, DependsOnEveryPart) {
  EXPECT_EQ(CacheKey("abc").digest(), CacheKey("abc").digest());
  EXPECT_EQ(CacheKey("abc").digest().size(), 64u);
  EXPECT_NE(CacheKey("ab").add("c").digest(), CacheKey("a").add("bc").digest());
  EXPECT_NE(CacheKey("a").digest(), CacheKey("a").add("").digest());
  EXPECT_NE(CacheKey("a").add(1).digest(), CacheKey("a").add(2).digest());
}

TEST(Cache, KeepsWhatIsStored) {
  TemporaryFolder T;
  Cache C({.Folder = T.path()});
  EXPECT_FALSE(C.find(key(1)));
  std::string Bytes("a\0b\n", 4);
  C.store(key(1), Bytes);
  C.store(key(2), "");
  EXPECT_EQ(C.find(key(1)), Bytes);
  EXPECT_EQ(C.find(key(2)), "");
  EXPECT_EQ(Cache({.Folder = T.path()}).find(key(1)), Bytes);
  EXPECT_EQ(C.statistics().Hits, 2u);
  EXPECT_EQ(C.statistics().Misses, 1u);
  EXPECT_EQ(C.statistics().Stored, 2u);
}

TEST(Cache, Disabled) {
  Cache C({.Folder = ""});
  C.store(key(1), "x");
  EXPECT_FALSE(C.find(key(1)));
  EXPECT_FALSE(C.enabled());
}

TEST(Cache, ADamagedEntryIsAMiss) {
  TemporaryFolder T;
  Cache C({.Folder = T.path()});
  std::string Error;
  for (auto Damage :
       {+[](std::string &S) { S.back() ^= 1; },
        +[](std::string &S) { S.pop_back(); },
        +[](std::string &S) { S.clear(); }, +[](std::string &S) { S[0] = 'x'; },
        +[](std::string &S) { S.resize(20); }}) {
    C.store(key(1), "content");
    std::string File = *readFile(entry(T, 1), Error);
    Damage(File);
    ASSERT_TRUE(writeFile(entry(T, 1), File, Error));
    EXPECT_FALSE(C.find(key(1)));
    EXPECT_FALSE(fs::exists(entry(T, 1)));
  }
  EXPECT_EQ(C.statistics().Corrupt, 5u);
  C.store(key(1), "content");
  EXPECT_EQ(C.find(key(1)), "content");
}

TEST(Cache, AnEntryUnderAnotherKeyIsAMiss) {
  TemporaryFolder T;
  Cache C({.Folder = T.path()});
  std::string Error;
  C.store(key(1), "one");
  C.store(key(2), "two");
  std::string One = *readFile(entry(T, 1), Error);
  ASSERT_TRUE(writeFile(entry(T, 2), One, Error));
  EXPECT_FALSE(C.find(key(2)));
  EXPECT_FALSE(fs::exists(entry(T, 2)));
  EXPECT_EQ(C.find(key(1)), "one");
  EXPECT_EQ(C.statistics().Corrupt, 1u);
}

// Entries of the first format: the digest is of the content alone.
TEST(Cache, AnEntryOfTheOldFormatIsAMiss) {
  TemporaryFolder T;
  Cache C({.Folder = T.path()});
  std::string Error, Content = "content";
  C.store(key(1), Content);
  std::array<uint8_t, 32> Digest =
      llvm::SHA256::hash(llvm::arrayRefFromStringRef(llvm::StringRef(Content)));
  std::string Old =
      "kpc cache 1\n" + std::string(Digest.begin(), Digest.end()) + Content;
  ASSERT_TRUE(writeFile(entry(T, 1), Old, Error));
  EXPECT_FALSE(C.find(key(1)));
}

TEST(Cache, TheLeastRecentlyUsedGoFirst) {
  TemporaryFolder T;
  std::string Kilobyte(1000, 'k');
  {
    Cache C({.Folder = T.path()});
    for (int I = 0; I < 8; ++I) {
      C.store(key(I), Kilobyte);
      setAge(entry(T, I), 1000 - I);
    }
    EXPECT_TRUE(C.find(key(0))); // now the newest
  }
  std::string Error, Stranger = T.path() + "/README";
  ASSERT_TRUE(writeFile(Stranger, "not ours", Error));
  setAge(Stranger, 100000);
  Cache C({.Folder = T.path(), .MaxBytes = 6000});
  C.trim();
  EXPECT_EQ(C.statistics().Evicted, 3u); // 8 * 1044 to at most 5250
  EXPECT_TRUE(fs::exists(entry(T, 0)));
  for (int I = 1; I < 4; ++I)
    EXPECT_FALSE(fs::exists(entry(T, I))) << I;
  for (int I = 4; I < 8; ++I)
    EXPECT_TRUE(fs::exists(entry(T, I))) << I;
  EXPECT_TRUE(fs::exists(Stranger));
}

TEST(Cache, StoringKeepsTheBound) {
  TemporaryFolder T;
  Cache C({.Folder = T.path(), .MaxBytes = 20000});
  for (int I = 0; I < 200; ++I)
    C.store(key(I), std::string(1000, 'k'));
  uint64_t Bytes = 0;
  for (auto &E : fs::recursive_directory_iterator(T.path()))
    if (E.is_regular_file())
      Bytes += E.file_size();
  EXPECT_LE(Bytes, 20000u);
  EXPECT_GE(Bytes, 10000u);
}

// Processes that store little do not look at what is there.
TEST(Cache, TheLedgerStandsForALook) {
  TemporaryFolder T;
  std::string Error, Old = T.path() + "/tmp.1.a";
  Cache({.Folder = T.path()}).store(key(0), "x"); // looks: there is no ledger
  ASSERT_TRUE(writeFile(Old, "half", Error));
  setAge(Old, 2 * 3600);
  for (int I = 1; I < 1000; ++I)
    Cache({.Folder = T.path()}).store(key(I), "x");
  EXPECT_TRUE(fs::exists(Old));
  for (int I = 1000; I < 1100; ++I)
    Cache({.Folder = T.path()}).store(key(I), "x");
  EXPECT_FALSE(fs::exists(Old));
  EXPECT_LT(fs::file_size(T.path() + "/ledger"), 8u * 100);
}

// What is no ledger is replaced, and the bound holds.
TEST(Cache, ABrokenLedgerIsMadeAnew) {
  for (std::string Content : {"", "odd", "a very large number is here"}) {
    TemporaryFolder T;
    Cache C({.Folder = T.path(), .MaxBytes = 6000});
    for (int I = 0; I < 8; ++I) {
      std::string Error;
      ASSERT_TRUE(writeFile(T.path() + "/ledger", Content, Error));
      C.store(key(I), std::string(1000, 'k'));
    }
    EXPECT_EQ(C.statistics().Evicted, 3u) << Content;
    EXPECT_EQ(C.statistics().WriteError, "");
  }
}

TEST(Cache, LeftoversOfKilledProcessesGo) {
  TemporaryFolder T;
  std::string Error, Old = T.path() + "/tmp.1.a", New = T.path() + "/tmp.2.b";
  ASSERT_TRUE(writeFile(Old, "half", Error));
  ASSERT_TRUE(writeFile(New, "half", Error));
  setAge(Old, 2 * 3600);
  Cache({.Folder = T.path()}).trim();
  EXPECT_FALSE(fs::exists(Old));
  EXPECT_TRUE(fs::exists(New));
}

TEST(Cache, AFolderThatCannotBeWritten) {
  Cache C({.Folder = "/dev/null/kpc"});
  C.store(key(1), "x");
  EXPECT_FALSE(C.find(key(1)));
  EXPECT_EQ(C.statistics().Stored, 0u);
  EXPECT_NE(C.statistics().WriteError.find("Not a directory"),
            std::string::npos);
}

TEST(Cache, OddDigestsReachNoFile) {
  TemporaryFolder T;
  Cache C({.Folder = T.path()});
  C.store("../../../etc/passwd", "x");
  EXPECT_FALSE(C.find("../../../etc/passwd"));
  EXPECT_FALSE(C.find(""));
  EXPECT_TRUE(fs::is_empty(T.path()));
}

TEST(Cache, DefaultFolder) {
  ::setenv("XDG_CACHE_HOME", "/somewhere", 1);
  EXPECT_EQ(defaultCacheFolder(), "/somewhere/kpc");
  ::setenv("XDG_CACHE_HOME", "relative", 1);
  ::setenv("HOME", "/home/me", 1);
  EXPECT_EQ(defaultCacheFolder(), "/home/me/.cache/kpc");
  ::unsetenv("HOME");
  EXPECT_EQ(defaultCacheFolder(), "");
}

// Eight processes read, write and evict the same entries. What is found is
// always whole.
TEST(Cache, ManyProcesses) {
  TemporaryFolder T;
  auto Content = [](int I) { return std::string(500 + 37 * I, 'a' + I % 26); };
  std::vector<pid_t> Processes;
  for (int P = 0; P < 8; ++P) {
    pid_t Pid = ::fork();
    ASSERT_GE(Pid, 0);
    if (Pid == 0) {
      Cache C({.Folder = T.path(), .MaxBytes = 30000});
      unsigned Seed = P;
      for (int Step = 0; Step < 400; ++Step) {
        int I = ::rand_r(&Seed) % 60;
        std::optional<std::string> Hit = C.find(key(I));
        if (Hit && *Hit != Content(I))
          ::_exit(1);
        if (!Hit)
          C.store(key(I), Content(I));
      }
      ::_exit(C.statistics().Corrupt || !C.statistics().WriteError.empty() ? 2
                                                                           : 0);
    }
    Processes.push_back(Pid);
  }
  for (pid_t Pid : Processes) {
    int Status = 0;
    ASSERT_EQ(::waitpid(Pid, &Status, 0), Pid);
    EXPECT_EQ(Status, 0);
  }
}
