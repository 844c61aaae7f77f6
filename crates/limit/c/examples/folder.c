/* Joins a shared budget in each folder whose name is read, and prints the reason if it is refused. */
#include "fanin_limit.h"

#include <stdio.h>
#include <string.h>

int main(void)
{
    char folder[4096], error[1024];
    while (fgets(folder, sizeof folder, stdin) != NULL) {
        folder[strcspn(folder, "\n")] = 0;
        fanin_limit *limit = fanin_limit_new_shared("{\"budget\": \"64 KB\"}", folder, error, sizeof error);
        puts(limit != NULL ? "joined" : error);
        fanin_limit_free(limit);
    }
    return 0;
}
