#include "commands.hpp"

int main(int argc, char** argv) {
  return attnscale::cli::run_program(argc, argv);
}
