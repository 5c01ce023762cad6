import { Counter, Gauge, type Registry } from "prom-client";

/** Metrics of the broker's backlog. Without a broker all of them stay at zero. */
export function mqttMetrics(registers: Registry[]) {
  return {
    connected: new Gauge({
      name: "writ_mqtt_connected",
      help: "1 while the hub is connected to the MQTT broker",
      registers,
    }),
    lag: new Gauge({
      name: "writ_mqtt_lag_events",
      help: "Events of the log that the MQTT broker does not have yet",
      registers,
    }),
    published: new Counter({
      name: "writ_mqtt_published_total",
      help: "Events of jobs that the MQTT broker has acknowledged",
      registers,
    }),
    skipped: new Counter({
      name: "writ_mqtt_skipped_total",
      help: "Events that left the database before the MQTT broker was there to take them",
      registers,
    }),
  };
}
