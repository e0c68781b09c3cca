// Pages as a browser shows them: headless Chromium draws one, and what it drew can be read.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <regex>
#include <string>

#include <gtest/gtest.h>

#include "support/file.h"
#include "tests/run_command.h"

namespace tcc::testing {

namespace fs = std::filesystem;

inline std::string find_browser() {
  std::string path =
      run_command("command -v chromium chromium-browser google-chrome 2>/dev/null").text;
  return path.substr(0, path.find('\n'));
}

class BrowserTest : public ::testing::Test {
 protected:
  void SetUp() override {
    browser_ = find_browser();
    if (browser_.empty()) GTEST_SKIP() << "no Chromium is installed";
    folder_ = fs::temp_directory_path() / ("tcc-report-" + std::to_string(getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override {
    if (!folder_.empty()) fs::remove_all(folder_);
  }

  // The document after its script ran, and after `script` where one is given.
  std::string drawn(std::string page, const std::string& script = "") const {
    if (!script.empty()) page.insert(page.rfind("</body>"), "<script>" + script + "</script>");
    return browse(page, "--dump-dom").text;
  }

  // A picture of the page in a window of this size.
  void take_picture(const std::string& page, const fs::path& png, int width, int height) const {
    browse(page,
           "--hide-scrollbars --force-device-scale-factor=1 --virtual-time-budget=3000 "
           "--window-size=" +
               std::to_string(width) + "," + std::to_string(height) + " --screenshot='" +
               png.string() + "'");
  }

  static std::string title(const std::string& document) {
    const std::regex pattern("<title>([^<]*)</title>");
    std::smatch match;
    return std::regex_search(document, match, pattern) ? match[1].str() : "no title";
  }

  static size_t count(const std::string& document, const std::string& words) {
    size_t count = 0;
    for (size_t at = 0; (at = document.find(words, at)) != std::string::npos; ++at) ++count;
    return count;
  }

  std::string browser_;
  fs::path folder_;

 private:
  Outcome browse(const std::string& page, const std::string& options) const {
    write_file_atomic(folder_ / "report.html", page);
    // The page is ours; the sandbox cannot start in most containers.
    return run_command("timeout 100 '" + browser_ +
                       "' --headless --no-sandbox --disable-gpu --disable-dev-shm-usage "
                       "--user-data-dir='" +
                       (folder_ / "profile").string() + "' " + options + " 'file://" +
                       (folder_ / "report.html").string() + "' 2>/dev/null");
  }
};

}  // namespace tcc::testing
