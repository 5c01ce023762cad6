/** The invented fleet. `cpu` and `mem` are what is in use, in percent. */
export const machines = [
  { id: "oak-01", slots: 16, cores: 16, ramGb: 64, tags: ["ssd"], cpu: 71, mem: 58 },
  { id: "oak-02", slots: 16, cores: 16, ramGb: 64, tags: ["ssd"], cpu: 84, mem: 66 },
  { id: "ash-01", slots: 8, cores: 8, ramGb: 32, tags: ["db"], cpu: 42, mem: 35 },
  {
    id: "elm-cloud-1",
    slots: 8,
    cores: 8,
    ramGb: 16,
    tags: ["spot"],
    cpu: 63,
    mem: 44,
    location: "CLOUD",
  },
  { id: "yew-gpu-1", slots: 4, cores: 32, ramGb: 256, tags: ["gpu", "a100"], cpu: 55, mem: 81 },
  { id: "fir-edge-1", slots: 4, cores: 4, ramGb: 8, tags: ["arm64"], cpu: 20, mem: 30 },
];
