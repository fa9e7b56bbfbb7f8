/* What slurmstepd offers a plugin, against the real header, with answers that a test sets. */
#include <slurm/spank.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>

struct {
    int context;
    /* Bit N: spank_get_item answers item N with an error. */
    uint32_t failing;
    uint32_t uid, job, step, restart, array, array_task, rank;
    int local, pid, status;
    /* NAME=VALUE, up to a null pointer. */
    const char *env[8];
    /* Options that were registered. */
    int registered;
} fake;

spank_context_t spank_context(void) { return fake.context; }

spank_err_t spank_option_register(spank_t spank, struct spank_option *option)
{
    (void)spank;
    fake.registered += option->cb != NULL;
    return ESPANK_SUCCESS;
}

spank_err_t spank_get_item(spank_t spank, spank_item_t item, ...)
{
    va_list args;
    (void)spank;
    if (fake.failing >> item & 1)
        return ESPANK_NOT_TASK;
    va_start(args, item);
    switch (item) {
    case S_JOB_UID: *va_arg(args, uid_t *) = fake.uid; break;
    case S_JOB_ID: *va_arg(args, uint32_t *) = fake.job; break;
    case S_JOB_STEPID: *va_arg(args, uint32_t *) = fake.step; break;
    case S_SLURM_RESTART_COUNT: *va_arg(args, uint32_t *) = fake.restart; break;
    case S_JOB_ARRAY_ID: *va_arg(args, uint32_t *) = fake.array; break;
    case S_JOB_ARRAY_TASK_ID: *va_arg(args, uint32_t *) = fake.array_task; break;
    case S_TASK_GLOBAL_ID: *va_arg(args, uint32_t *) = fake.rank; break;
    case S_TASK_ID: *va_arg(args, int *) = fake.local; break;
    case S_TASK_PID: *va_arg(args, pid_t *) = fake.pid; break;
    case S_TASK_EXIT_STATUS: *va_arg(args, int *) = fake.status; break;
    default: va_end(args); return ESPANK_BAD_ARG;
    }
    va_end(args);
    return ESPANK_SUCCESS;
}

spank_err_t spank_getenv(spank_t spank, const char *name, char *buffer, int size)
{
    size_t length = strlen(name);
    (void)spank;
    for (const char **at = fake.env; *at; at++)
        if (!strncmp(*at, name, length) && (*at)[length] == '=')
            return snprintf(buffer, size, "%s", *at + length + 1) < size ? ESPANK_SUCCESS : ESPANK_NOSPACE;
    return ESPANK_ENV_NOEXIST;
}
