#include "inject/service.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/text.h"
#include "inject/test_daemon.h"

namespace culprit {
namespace {

void add_process(const TestFolder& proc, int pid, const std::string& comm, int parent, char state, int64_t start) {
  std::string folder = cat(pid, "/");
  std::string stat = cat(pid, " (", comm, ") ", state, " ", parent);
  for (int field = 5; field < 22; ++field) stat += " 0";
  proc.write(folder + "stat", cat(stat, " ", start, " 0 0\n"));
  proc.write(folder + "comm", comm + "\n");
  proc.write(folder + "cmdline", cat("/usr/sbin/", comm, std::string(1, '\0'), "-x", std::string(1, '\0')));
}

TEST(ServiceTest, FindsByNameOnly) {
  TestFolder proc;
  add_process(proc, 10, "glusterfsd", 1, 'S', 500);
  add_process(proc, 11, "glusterfsdx", 1, 'S', 501);
  add_process(proc, 12, "glusterfsd", 1, 'Z', 502);
  add_process(proc, 13, "glusterfsd/main", 10, 'S', 503);
  add_process(proc, 14, "averylongdaemon", 1, 'S', 504);
  auto found = find_daemons(proc.path(), {"glusterfsd", "averylongdaemonname"});
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].id.pid, 10);
  EXPECT_EQ(found[0].id.start_ticks, 500);
  EXPECT_FALSE(found[0].worker);
  EXPECT_EQ(found[0].argv, (std::vector<std::string>{"/usr/sbin/glusterfsd", "-x"}));
  EXPECT_EQ(found[1].id.pid, 13);
  EXPECT_TRUE(found[1].worker);
  EXPECT_EQ(found[2].comm, "averylongdaemon");
  EXPECT_TRUE(find_daemons(proc.path(), {}).empty());
}

// Files stand for namespaces: what counts is whether it is the same one.
TEST(ServiceTest, FindsOnlyThoseOfOurOwnNetwork) {
  TestFolder proc;
  add_process(proc, 10, "glusterfsd", 1, 'S', 500);
  add_process(proc, 11, "glusterfsd", 1, 'S', 501);
  add_process(proc, 12, "glusterfsd", 1, 'S', 502);
  proc.write("self/ns/net", "");
  proc.write("11/ns/net", "");
  std::filesystem::create_directories(proc.path() + "/10/ns");
  std::filesystem::create_hard_link(proc.path() + "/self/ns/net", proc.path() + "/10/ns/net");
  auto found = find_daemons(proc.path(), {"glusterfsd"});
  ASSERT_EQ(found.size(), 1U) << "12 does not say where it is";
  EXPECT_EQ(found[0].id.pid, 10);
}

TEST(ServiceTest, WordsSurviveTheJournal) {
  std::vector<std::string> words = {"a b", "", "%", "x\ny\t", "\xff\x01", "--option=1"};
  std::string text = encode_words(words);
  EXPECT_EQ(text.find('\n'), std::string::npos);
  auto back = decode_words(text);
  ASSERT_TRUE(back);
  EXPECT_EQ(*back, words);
  EXPECT_FALSE(decode_words("%4"));
  EXPECT_FALSE(decode_words("a%zz"));
}

TEST(ServiceTest, NotesKeepAllOfADaemon) {
  TestDaemon daemon;
  daemon.start();
  FaultWork work{.part = daemon.part, .notes = {}};
  ASSERT_TRUE(note_services(work, Need::one));
  auto services = noted_services(work);
  ASSERT_TRUE(services) << services.error().message();
  ASSERT_EQ(services->size(), 1U);
  const Service& service = services->front();
  EXPECT_EQ(service.exe, daemon.folder() + "/" + daemon.name());
  EXPECT_EQ(service.cwd, daemon.folder());
  EXPECT_EQ(service.daemon.argv[1], "1000");
  EXPECT_EQ(service.environment, (std::vector<std::string>{"COLOUR=dark blue", "EMPTY=", "LINE=a\nb"}));
  EXPECT_EQ(service.identity.uid, ::geteuid());
  rlimit files{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &files), 0);
  EXPECT_EQ(service.limits.at(RLIMIT_NOFILE).rlim_cur, files.rlim_cur);
  EXPECT_EQ(service.limits.at(RLIMIT_NOFILE).rlim_max, files.rlim_max);
}

TEST(ServiceTest, DamagedNotesAreErrors) {
  TestDaemon daemon;
  daemon.start();
  FaultWork work{.part = daemon.part, .notes = {}};
  ASSERT_TRUE(note_services(work, Need::one));
  for (const auto& [key, bad] : FaultParams{{"daemons", "99999"},
                                            {"daemons", "2"},
                                            {"daemon0", "0 1 0 0 0 0"},
                                            {"daemon0", "x"},
                                            {"daemon0.names", "one"},
                                            {"daemon0.argv", "%q"}}) {
    FaultWork broken = work;
    broken.notes[key] = bad;
    EXPECT_FALSE(noted_services(broken)) << key << "=" << bad;
  }
}

TEST(ServiceTest, NoneIsAnErrorOnlyWhenOneIsNeeded) {
  TestDaemon daemon;
  FaultWork work{.part = daemon.part, .notes = {}};
  auto needed = note_services(work, Need::one);
  ASSERT_FALSE(needed);
  EXPECT_NE(needed.error().what.find(daemon.name()), std::string::npos);
  EXPECT_TRUE(note_services(work, Need::none));
  auto missing = missing_services(work);
  ASSERT_TRUE(missing);
  EXPECT_TRUE(missing->empty());
}

TEST(ServiceTest, StopsAndStartsAgainAsItWas) {
  TestDaemon daemon;
  daemon.start();
  FaultWork work{.part = daemon.part, .notes = {}};
  ASSERT_TRUE(note_services(work, Need::one));
  pid_t before = daemon.running().at(0).id.pid;
  ::kill(before, SIGSTOP);  // it must be ended all the same
  ASSERT_TRUE(stop_services(work));
  EXPECT_TRUE(daemon.running().empty());
  ASSERT_TRUE(restart_services(work));
  auto after = daemon.running();
  ASSERT_EQ(after.size(), 1U);
  pid_t pid = after[0].id.pid;
  EXPECT_NE(pid, before);
  EXPECT_NE(::getsid(pid), ::getsid(0));
  EXPECT_EQ(std::filesystem::read_symlink(cat("/proc/", pid, "/cwd")), daemon.folder());
  EXPECT_EQ(std::filesystem::read_symlink(cat("/proc/", pid, "/fd/1")), "/dev/null");
  auto environment = read_file(cat("/proc/", pid, "/environ"));
  ASSERT_TRUE(environment);
  EXPECT_TRUE(environment->starts_with("COLOUR=dark blue"));
  ASSERT_TRUE(restart_services(work));  // again: harmless
  EXPECT_EQ(daemon.running().size(), 1U);
}

TEST(ServiceTest, WhatSomebodyElseStartedIsEnough) {
  TestDaemon daemon;
  daemon.start();
  FaultWork work{.part = daemon.part, .notes = {}};
  ASSERT_TRUE(note_services(work, Need::one));
  ASSERT_TRUE(stop_services(work));
  daemon.start();
  pid_t theirs = daemon.running().at(0).id.pid;
  ASSERT_TRUE(restart_services(work));
  ASSERT_EQ(daemon.running().size(), 1U);
  EXPECT_EQ(daemon.running()[0].id.pid, theirs);
}

TEST(ServiceTest, TwoWithOneCommandLineAreTwo) {
  TestDaemon daemon;
  daemon.start();
  daemon.start();
  FaultWork work{.part = daemon.part, .notes = {}};
  ASSERT_TRUE(note_services(work, Need::one));
  ::kill(daemon.running().at(0).id.pid, SIGKILL);
  ASSERT_TRUE(wait_gone(noted_services(work)->at(0).daemon.id, 5 * kNsPerSecond));
  EXPECT_EQ(missing_services(work)->size(), 1U);
  ASSERT_TRUE(restart_services(work));
  EXPECT_EQ(daemon.running().size(), 2U);
}

TEST(ServiceTest, TheSitesOwnCommandWins) {
  TestDaemon daemon;
  daemon.start();
  daemon.part.params["restart"] = cat("touch ", daemon.folder(), "/asked; cd ", daemon.folder(), "; setsid ",
                                      daemon.folder(), "/", daemon.name(), " 1000 >/dev/null 2>&1 </dev/null &");
  FaultWork work{.part = daemon.part, .notes = {}};
  ASSERT_TRUE(note_services(work, Need::one));
  ASSERT_TRUE(stop_services(work));
  Status restarted = restart_services(work);
  ASSERT_TRUE(restarted) << restarted.error().message();
  EXPECT_TRUE(path_exists(daemon.folder() + "/asked"));
  EXPECT_EQ(daemon.running().size(), 1U);
}

TEST(ServiceTest, AProgramThatIsGoneIsAnError) {
  TestDaemon daemon;
  daemon.start();
  FaultWork work{.part = daemon.part, .notes = {}};
  ASSERT_TRUE(note_services(work, Need::one));
  ASSERT_TRUE(stop_services(work));
  std::filesystem::remove(daemon.folder() + "/" + daemon.name());
  Status restarted = restart_services(work);
  ASSERT_FALSE(restarted);
  EXPECT_EQ(restarted.error().errno_value, ENOENT);
}

}  // namespace
}  // namespace culprit
