/* Frees what the C library allocated: opened with RTLD_DEEPBIND, the two would disagree about whose malloc it was. */
#include <stdlib.h>
#include <string.h>

char* copy(const char* text);
void give_back(char* text);

char* copy(const char* text) { return strdup(text); }
void give_back(char* text) { free(text); }
