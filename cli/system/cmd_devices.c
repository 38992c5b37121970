/* lathe devices: what this machine can compute on. SPDX-License-Identifier: BSD-3-Clause */
#include "cli/frame/cli.h"

#include <string.h>

typedef struct devices_options { cli_common common; } devices_options;

static const lt_option_group groups[] = CLI_COMMON_GROUP;
static const lt_option_table table = {
    .program = "lathe devices", .summary = "List the devices lathe can compute on",
    .groups = groups, .n_groups = CLI_LEN(groups), .example = "lathe devices --json",
};

static void put_json(lt_json *j, const lt_device_info *d)
{
    static const char *const level[] = { "l1_bytes", "l2_bytes", "l3_bytes" };
    lt_json_object_begin(j);
    lt_json_field_string(j, "id", d->id);
    lt_json_field_string(j, "name", d->name);
    lt_json_field_string(j, "features", d->features);
    lt_json_field_string(j, "driver", d->driver);
    lt_json_field_int(j, "cores", d->cores);
    lt_json_field_int(j, "memory_total_bytes", d->memory_total_bytes);
    lt_json_field_int(j, "memory_free_bytes", d->memory_free_bytes);
    for (int i = 0; i < 3; i++) lt_json_field_int(j, level[i], d->cache_bytes[i]);
    lt_json_field_bool(j, "computes", d->computes);
    lt_json_object_end(j);
}

static void put_text(const lt_device_info *d)
{
    printf("%s: %s\n", d->id, d->name);
    if (d->cores) printf("  cores     %d\n", d->cores);
    if (d->memory_total_bytes)
        printf("  memory    %s, %s free\n", cli_bytes((double)d->memory_total_bytes).s, cli_bytes((double)d->memory_free_bytes).s);
    if (d->cache_bytes[0])
        printf("  caches    L1 %s, L2 %s, L3 %s\n", cli_bytes((double)d->cache_bytes[0]).s,
               cli_bytes((double)d->cache_bytes[1]).s, cli_bytes((double)d->cache_bytes[2]).s);
    if (d->features[0]) printf("  features  %s\n", d->features);
    if (d->driver[0]) printf("  driver    %s\n", d->driver);
}

static void put_device(cli_context *c, const lt_device_info *d)
{
    if (c->json) put_json(c->json, d);
    else put_text(d);
}

static lt_status run(cli_context *c)
{
    lt_device_info info = { .size = sizeof info };
    if (c->json) {
        lt_json_key(c->json, "devices");
        lt_json_array_begin(c->json);
    }
    if (c->device) { /* --device named one */
        CLI_TRY(lt_device_describe(c->device, &info));
        put_device(c, &info);
    } else {
        for (int i = 0; i < lt_device_count(); i++) {
            if (!lt_device_list(i, &info)) put_device(c, &info);
            else if (!c->common.quiet) fprintf(stderr, "lathe: %s\n", lt_error_text()); /* there, and of no use */
        }
    }
    if (c->json) lt_json_array_end(c->json);
    return LT_OK;
}

const cli_command cli_devices = {
    .name = "devices", .options = &table, .options_bytes = sizeof(devices_options), .run = run,
    .description = "Lists every device that can be opened here, with its memory, caches and instruction sets. "
                   "The device null plans and counts but computes nothing.\n"
                   "With --device only that one is shown; one that cannot be opened is an error with its reason.",
};
