#include "worker/words.hpp"

#include <string_view>

#include "core/error.hpp"

namespace attnscale::worker {
namespace {

class Splitter {
 public:
  explicit Splitter(const std::string& command) : command_(command) {}

  std::vector<std::string> run() {
    for (std::size_t i = 0; i < command_.size(); ++i) {
      const char c = command_[i];
      if (c == '\'' || c == '"') {
        i = quoted_part(i);
      } else if (c == '\\') {
        if (i + 1 == command_.size()) refuse("ends with a backslash: remove it, or write what it should keep");
        add(command_[++i]);
      } else if (c == ' ' || c == '\t' || c == '\n') {
        end_word();
      } else {
        add(c);
      }
    }
    end_word();
    if (words_.empty()) refuse("is empty: give a program, as in 'python3 peers/python/numpy_exact.py'");
    return words_;
  }

 private:
  // From the opening quote to the closing one, whose place is returned.
  std::size_t quoted_part(std::size_t open) {
    const char quote = command_[open];
    in_word_ = true;
    for (std::size_t i = open + 1; i < command_.size(); ++i) {
      if (command_[i] == quote) return i;
      const bool escape = quote == '"' && command_[i] == '\\' && i + 1 < command_.size() &&
                          (command_[i + 1] == '"' || command_[i + 1] == '\\');
      add(command_[escape ? ++i : i]);
    }
    refuse(quote == '"' ? "has an open \": close it" : "has an open ': close it");
  }

  void add(char c) {
    word_ += c;
    in_word_ = true;
  }

  void end_word() {
    if (in_word_) words_.push_back(word_);
    word_.clear();
    in_word_ = false;
  }

  [[noreturn]] void refuse(const std::string& why) const {
    throw InputError("the worker command " + quoted(command_) + " " + why);
  }

  const std::string& command_;
  std::vector<std::string> words_;
  std::string word_;
  bool in_word_ = false;
};

}  // namespace

std::vector<std::string> split_words(const std::string& command) {
  return Splitter(command).run();
}

}  // namespace attnscale::worker
