import { z } from "zod";
import { laneView } from "../shapes/lane-shapes.ts";
import { orderList } from "../shapes/schedule-shapes.ts";
import { nextCursor, route } from "./route.ts";

export const laneRoutes = {
  listLanes: route({
    method: "GET",
    path: "/lanes",
    who: ["user", "viewer"],
    summary: "List the lanes that jobs name now, with what fills them",
    query: orderList,
    answers: { 200: { description: "Lanes", shape: z.array(laneView), headers: nextCursor } },
  }),
} as const;
