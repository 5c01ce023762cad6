/* The automaton that finds the texts of a mask. Why: ADR 0034. */
#define _GNU_SOURCE
#include "output/mask.h"

#include <string.h>
#include <sys/mman.h>

#include "fatal.h"
#include "protocol.h"

#define ROOT 0u
#define MASK_BYTE '*'

/* A state: the last `depth` bytes are the beginning of a text. 0 means "none" for child, sibling and queued. */
struct node {
  uint32_t child, sibling;
  uint32_t fallback; /* the longest other beginning of a text that these bytes end with */
  uint32_t depth;
  uint32_t match_bytes; /* the longest whole text that these bytes end with, 0 when there is none */
  uint32_t queued;      /* only while the fallbacks are set */
  uint8_t byte;
};

struct mask {
  size_t region_bytes;
  uint32_t first[256]; /* the children of the root, by their byte: most output never gets further */
  uint32_t nodes_count;
  struct node nodes[];
};

static void add_text(struct mask *mask, const char *text);
static uint32_t add_child(struct mask *mask, uint32_t parent, uint8_t byte);
static uint32_t find_child(const struct mask *mask, uint32_t parent, uint8_t byte);
static void set_fallbacks(struct mask *mask);
static uint32_t step(const struct mask *mask, uint32_t state, uint8_t byte);

bool mask_open(struct mask **mask, struct masked_stream *const streams[2], const struct plan *plan,
               struct failure *failure) {
  size_t all = 0, longest = 0;
  if (plan->masks_count == 0) return true;
  for (size_t i = 0; i < plan->masks_count; i++) {
    size_t length = strlen(plan->masks[i]);
    all += length;
    if (length > longest) longest = length;
  }
  size_t nodes_bytes = sizeof(struct mask) + (all + 1) * sizeof(struct node);
  size_t region_bytes = nodes_bytes + 2 * longest;
  void *region = mmap(NULL, region_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (region == MAP_FAILED) return fail(failure, STEP_OUTPUT, "no memory for a mask of %zu bytes", region_bytes);
  *mask = region;
  (*mask)->region_bytes = region_bytes;
  // Before anything is in it: the cages of other jobs start as copies of the launcher.
  if (madvise(region, region_bytes, MADV_DONTFORK) != 0 || madvise(region, region_bytes, MADV_DONTDUMP) != 0) {
    return fail(failure, STEP_OUTPUT, "keeping a mask from other processes");
  }
  (*mask)->nodes_count = 1;
  for (size_t i = 0; i < plan->masks_count; i++) add_text(*mask, plan->masks[i]);
  set_fallbacks(*mask);
  for (int i = 0; i < 2; i++) {
    *streams[i] = (struct masked_stream){.mask = *mask, .held = (uint8_t *)region + nodes_bytes + (size_t)i * longest};
  }
  return true;
}

void mask_close(struct mask **mask) {
  if (*mask != NULL && munmap(*mask, (*mask)->region_bytes) != 0) fatal("giving back the memory of a mask");
  *mask = NULL;
}

size_t mask_bytes(struct masked_stream *stream, uint8_t *bytes, size_t bytes_count) {
  const struct mask *mask = stream->mask;
  uint32_t state = stream->state;
  // What was overwritten last. Texts may overlap, and no byte of a long one is overwritten again for each byte read.
  size_t from = 0, to = 0;
  for (size_t i = stream->held_bytes; i < bytes_count; i++) {
    state = step(mask, state, bytes[i]);
    size_t match = mask->nodes[state].match_bytes;
    if (match == 0) continue;
    size_t end = i + 1, start = end - match;
    bool goes_on = start >= from && start <= to;
    memset(bytes + (goes_on ? to : start), MASK_BYTE, end - (goes_on ? to : start));
    if (!goes_on) from = start;
    to = end;
  }
  stream->state = state;
  return bytes_count - mask->nodes[state].depth;
}

static void add_text(struct mask *mask, const char *text) {
  uint32_t state = ROOT;
  for (const char *byte = text; *byte != '\0'; byte++) {
    uint32_t child = find_child(mask, state, (uint8_t)*byte);
    state = child != 0 ? child : add_child(mask, state, (uint8_t)*byte);
  }
  mask->nodes[state].match_bytes = mask->nodes[state].depth;
}

static uint32_t add_child(struct mask *mask, uint32_t parent, uint8_t byte) {
  uint32_t index = mask->nodes_count++;
  struct node *node = &mask->nodes[index];
  *node = (struct node){.byte = byte, .depth = mask->nodes[parent].depth + 1};
  if (parent == ROOT) {
    mask->first[byte] = index;
  } else {
    node->sibling = mask->nodes[parent].child;
    mask->nodes[parent].child = index;
  }
  return index;
}

static uint32_t find_child(const struct mask *mask, uint32_t parent, uint8_t byte) {
  if (parent == ROOT) return mask->first[byte];
  uint32_t child = mask->nodes[parent].child;
  while (child != 0 && mask->nodes[child].byte != byte) child = mask->nodes[child].sibling;
  return child;
}

/* Level by level: each fallback is shorter than its node, so it is complete when it is needed. */
static void set_fallbacks(struct mask *mask) {
  struct node *nodes = mask->nodes;
  uint32_t head = ROOT, tail = ROOT;
  for (int byte = 0; byte < 256; byte++) {
    if (mask->first[byte] == 0) continue;
    nodes[tail].queued = mask->first[byte];
    tail = mask->first[byte];
  }
  while ((head = nodes[head].queued) != 0) {
    for (uint32_t child = nodes[head].child; child != 0; child = nodes[child].sibling) {
      nodes[child].fallback = step(mask, nodes[head].fallback, nodes[child].byte);
      if (nodes[child].match_bytes == 0) nodes[child].match_bytes = nodes[nodes[child].fallback].match_bytes;
      nodes[tail].queued = child;
      tail = child;
    }
  }
}

/* Each fallback is shorter than the state before it, so there are never more of them than bytes were read. */
static uint32_t step(const struct mask *mask, uint32_t state, uint8_t byte) {
  for (;;) {
    uint32_t child = find_child(mask, state, byte);
    if (child != 0 || state == ROOT) return child;
    state = mask->nodes[state].fallback;
  }
}
