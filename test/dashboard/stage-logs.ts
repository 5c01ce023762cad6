/** What the jobs of the stage have written. */
export const tilesLog = `tiles 2.4.1 starting in /work, 14 zoom levels, region alps
reading /work/in/alps.osm.pbf (1.42 GiB) …
index: 18,204,551 nodes, 2,310,884 ways in 41.2 s
${[
  "1 tile     0.0",
  "2 tiles    0.0",
  "4 tiles    0.1",
  "9 tiles    0.2",
  "22 tiles    0.6",
  "71 tiles    1.9",
  "240 tiles    4.8",
  "902 tiles   11.7",
  "3,410 tiles   28.3",
  "12,988 tiles   57.0",
]
  .map((line, zoom) => `zoom ${String(zoom).padStart(2)} \x1b[32mok\x1b[0m ${line.padStart(20)} s`)
  .join("\n")}
\x1b[33mwarn\x1b[0m  glacier polygon 771204 is not closed, closing it
zoom 10 \x1b[32mok\x1b[0m 23,640 tiles  104.9 s
zoom 11 … 41,288 of 66,120 tiles
`;

export const transcodeLog = `transcode 2.1 starting, preset hls-3, 3 outputs, hevc
Input #0, mov,mp4, from '/work/in/reel-0417.mov':
  Duration: 00:02:00.04, start: 0.000000, bitrate: 184211 kb/s
  Stream #0:0: Video: prores (HQ), yuv422p10le, 3840x2160, 60 fps
Stream mapping: Stream #0:0 -> #0:0 (prores -> hevc), 3 outputs
frame=  411 fps= 74 q=28.0 size=    2048kB time=00:00:06.83 speed=1.23x
frame= 1106 fps= 75 q=28.0 size=    6144kB time=00:00:18.42 speed=1.25x
frame= 1894 fps= 75 q=28.0 size=   11264kB time=00:00:31.55 speed=1.25x
\x1b[33m[hevc @ 0x5581] lookahead buffer grew to 214 frames\x1b[0m
frame= 2588 fps= 74 q=28.0 size=   15872kB time=00:00:43.12 speed=1.24x
\x1b[31m[hevc @ 0x5581] memory allocation of 33177600 bytes is slow\x1b[0m
frame= 2817 fps= 73 q=28.0 size=   17998kB time=00:00:46.95 speed=1.22x
\x1b]52;c;Y2xpcGJvYXJk\x07\x1b[31mcannot allocate memory\x1b[0m
`;
