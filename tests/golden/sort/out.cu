// ==== sort_runs [sort] items=5 threads=128
// values = sort_runs(x, -) : f32[16, 300]
__shared__ f32 keys[640];
__shared__ i32 places[640];

extern "C" __global__ void __launch_bounds__(128) sort_runs_kernel(const f32* __restrict__ b0, f32* __restrict__ b1, i64* __restrict__ b2) {
  tcc_cuda_release();
  tcc_cuda_wait();
  i32 block = i32(blockIdx.x + blockIdx.y * gridDim.x);
  i32 thread = i32(threadIdx.x);
  i32 lane = thread & 63;
  i32 line = (thread >> 6) + block * 2;
  i32 base = (thread >> 6) * 320;
  #pragma unroll
  for (i32 item = 0; item < 5; ++item) {
    keys[base + item * 64 + lane] = b0[line * 300 + min(299, item * 64 + lane)];
  }
  __syncthreads();
  f32 key[5];
  i32 place[5];
  #pragma unroll
  for (i32 item = 0; item < 5; ++item) {
    key[item] = keys[base + item + lane * 5];
    place[item] = item + lane * 5;
  }
  #pragma unroll
  for (i32 round = 0; round < 3; ++round) {
    #pragma unroll
    for (i32 even = 0; even < 2; ++even) {
      if (((even * 2 + lane * 5 + 1) < 300) && ((key[even * 2 + 1] < key[even * 2]) || (tcc_isnan_f32(key[even * 2]) && (!tcc_isnan_f32(key[even * 2 + 1]))))) {
        f32 left_key = key[even * 2];
        key[even * 2] = key[even * 2 + 1];
        key[even * 2 + 1] = left_key;
        i32 left_place = place[even * 2];
        place[even * 2] = place[even * 2 + 1];
        place[even * 2 + 1] = left_place;
      }
    }
    #pragma unroll
    for (i32 odd = 0; odd < 2; ++odd) {
      if (((lane * 5 + odd * 2 + 2) < 300) && ((key[odd * 2 + 2] < key[odd * 2 + 1]) || (tcc_isnan_f32(key[odd * 2 + 1]) && (!tcc_isnan_f32(key[odd * 2 + 2]))))) {
        f32 left_key = key[odd * 2 + 1];
        key[odd * 2 + 1] = key[odd * 2 + 2];
        key[odd * 2 + 2] = left_key;
        i32 left_place = place[odd * 2 + 1];
        place[odd * 2 + 1] = place[odd * 2 + 2];
        place[odd * 2 + 2] = left_place;
      }
    }
  }
  __syncthreads();
  #pragma unroll
  for (i32 item = 0; item < 5; ++item) {
    keys[base + item + lane * 5] = key[item];
    places[base + item + lane * 5] = place[item];
  }
  __syncthreads();
  i32 start5 = (lane >> 1) * 10;
  i32 a_length5 = max(0, min(-start5 + 300, 5));
  i32 b_length5 = max(0, min(-start5 + 295, 5));
  i32 diagonal5 = min((lane & 1) * 5, a_length5 + b_length5);
  i32 low0 = max((-b_length5 + diagonal5), 0);
  i32 high1 = min(diagonal5, a_length5);
  for (i32 step5 = 0; step5 < 3; ++step5) {
    if (low0 < high1) {
      i32 middle2 = tcc_shr_i32(low0 + high1, 1);
      i32 spot4 = i32((base + start5 + 5) + ((diagonal5 - 1) - middle2));
      i32 spot3 = i32((base + start5) + middle2);
      if ((keys[spot4] < keys[spot3]) || (tcc_isnan_f32(keys[spot3]) && (!tcc_isnan_f32(keys[spot4])))) {
        high1 = middle2;
      } else {
        low0 = middle2 + 1;
      }
    }
  }
  i32 i6 = (base + start5) + low0;
  i32 j7 = (base + diagonal5 + start5 + 5) + (0 - low0);
  i32 spot12 = i32(min(i6, 639));
  f32 a_key8 = keys[spot12];
  i32 spot13 = i32(min(j7, 639));
  f32 b_key9 = keys[spot13];
  #pragma unroll
  for (i32 item = 0; item < 5; ++item) {
    bool take10 = (!(i6 < (a_length5 + base + start5))) || ((j7 < (b_length5 + base + start5 + 5)) && ((b_key9 < a_key8) || (tcc_isnan_f32(a_key8) && (!tcc_isnan_f32(b_key9)))));
    key[item] = take10 ? b_key9 : a_key8;
    i32 spot14 = i32(min((take10 ? j7 : i6), 639));
    place[item] = places[spot14];
    i32 from11 = min(((take10 ? j7 : i6) + 1), 639);
    if (take10) {
      j7 = j7 + 1;
      i32 spot16 = i32(from11);
      b_key9 = keys[spot16];
    } else {
      i6 = i6 + 1;
      i32 spot15 = i32(from11);
      a_key8 = keys[spot15];
    }
  }
  __syncthreads();
  #pragma unroll
  for (i32 item = 0; item < 5; ++item) {
    keys[base + item + lane * 5] = key[item];
    places[base + item + lane * 5] = place[item];
  }
  __syncthreads();
  i32 start10 = (lane >> 2) * 20;
  i32 a_length10 = max(0, min(10, -start10 + 300));
  i32 b_length10 = max(0, min(10, -start10 + 290));
  i32 diagonal10 = min((lane & 3) * 5, a_length10 + b_length10);
  i32 low17 = max((-b_length10 + diagonal10), 0);
  i32 high18 = min(diagonal10, a_length10);
  for (i32 step22 = 0; step22 < 4; ++step22) {
    if (low17 < high18) {
      i32 middle19 = tcc_shr_i32(low17 + high18, 1);
      i32 spot21 = i32((base + start10 + 10) + ((diagonal10 - 1) - middle19));
      i32 spot20 = i32((base + start10) + middle19);
      if ((keys[spot21] < keys[spot20]) || (tcc_isnan_f32(keys[spot20]) && (!tcc_isnan_f32(keys[spot21])))) {
        high18 = middle19;
      } else {
        low17 = middle19 + 1;
      }
    }
  }
  i32 i23 = (base + start10) + low17;
  i32 j24 = (base + diagonal10 + start10 + 10) + (0 - low17);
  i32 spot29 = i32(min(i23, 639));
  f32 a_key25 = keys[spot29];
  i32 spot30 = i32(min(j24, 639));
  f32 b_key26 = keys[spot30];
  #pragma unroll
  for (i32 item = 0; item < 5; ++item) {
    bool take27 = (!(i23 < (a_length10 + base + start10))) || ((j24 < (b_length10 + base + start10 + 10)) && ((b_key26 < a_key25) || (tcc_isnan_f32(a_key25) && (!tcc_isnan_f32(b_key26)))));
    key[item] = take27 ? b_key26 : a_key25;
    i32 spot31 = i32(min((take27 ? j24 : i23), 639));
    place[item] = places[spot31];
    i32 from28 = min(((take27 ? j24 : i23) + 1), 639);
    if (take27) {
      j24 = j24 + 1;
      i32 spot33 = i32(from28);
      b_key26 = keys[spot33];
    } else {
      i23 = i23 + 1;
      i32 spot32 = i32(from28);
      a_key25 = keys[spot32];
    }
  }
  __syncthreads();
  #pragma unroll
  for (i32 item = 0; item < 5; ++item) {
    keys[base + item + lane * 5] = key[item];
    places[base + item + lane * 5] = place[item];
  }
  __syncthreads();
  i32 start20 = (lane >> 3) * 40;
  i32 a_length20 = max(0, min(20, -start20 + 300));
  i32 b_length20 = max(0, min(20, -start20 + 280));
  i32 diagonal20 = min((lane & 7) * 5, a_length20 + b_length20);
  i32 low34 = max((-b_length20 + diagonal20), 0);
  i32 high35 = min(diagonal20, a_length20);
  for (i32 step39 = 0; step39 < 5; ++step39) {
    if (low34 < high35) {
      i32 middle36 = tcc_shr_i32(low34 + high35, 1);
      i32 spot38 = i32((base + start20 + 20) + ((diagonal20 - 1) - middle36));
      i32 spot37 = i32((base + start20) + middle36);
      if ((keys[spot38] < keys[spot37]) || (tcc_isnan_f32(keys[spot37]) && (!tcc_isnan_f32(keys[spot38])))) {
        high35 = middle36;
      } else {
        low34 = middle36 + 1;
      }
    }
  }
  i32 i40 = (base + start20) + low34;
  i32 j41 = (base + diagonal20 + start20 + 20) + (0 - low34);
  i32 spot46 = i32(min(i40, 639));
  f32 a_key42 = keys[spot46];
  i32 spot47 = i32(min(j41, 639));
  f32 b_key43 = keys[spot47];
  #pragma unroll
  for (i32 item = 0; item < 5; ++item) {
    bool take44 = (!(i40 < (a_length20 + base + start20))) || ((j41 < (b_length20 + base + start20 + 20)) && ((b_key43 < a_key42) || (tcc_isnan_f32(a_key42) && (!tcc_isnan_f32(b_key43)))));
    key[item] = take44 ? b_key43 : a_key42;
    i32 spot48 = i32(min((take44 ? j41 : i40), 639));
    place[item] = places[spot48];
    i32 from45 = min(((take44 ? j41 : i40) + 1), 639);
    if (take44) {
      j41 = j41 + 1;
      i32 spot50 = i32(from45);
      b_key43 = keys[spot50];
    } else {
      i40 = i40 + 1;
      i32 spot49 = i32(from45);
      a_key42 = keys[spot49];
    }
  }
  __syncthreads();
  #pragma unroll
  for (i32 item = 0; item < 5; ++item) {
    keys[base + item + lane * 5] = key[item];
    places[base + item + lane * 5] = place[item];
  }
  __syncthreads();
  i32 start40 = (lane >> 4) * 80;
  i32 a_length40 = max(0, min(-start40 + 300, 40));
  i32 b_length40 = max(0, min(-start40 + 260, 40));
  i32 diagonal40 = min((lane & 15) * 5, a_length40 + b_length40);
  i32 low51 = max((-b_length40 + diagonal40), 0);
  i32 high52 = min(diagonal40, a_length40);
  for (i32 step56 = 0; step56 < 6; ++step56) {
    if (low51 < high52) {
      i32 middle53 = tcc_shr_i32(low51 + high52, 1);
      i32 spot55 = i32((base + start40 + 40) + ((diagonal40 - 1) - middle53));
      i32 spot54 = i32((base + start40) + middle53);
      if ((keys[spot55] < keys[spot54]) || (tcc_isnan_f32(keys[spot54]) && (!tcc_isnan_f32(keys[spot55])))) {
        high52 = middle53;
      } else {
        low51 = middle53 + 1;
      }
    }
  }
  i32 i57 = (base + start40) + low51;
  i32 j58 = (base + diagonal40 + start40 + 40) + (0 - low51);
  i32 spot63 = i32(min(i57, 639));
  f32 a_key59 = keys[spot63];
  i32 spot64 = i32(min(j58, 639));
  f32 b_key60 = keys[spot64];
  #pragma unroll
  for (i32 item = 0; item < 5; ++item) {
    bool take61 = (!(i57 < (a_length40 + base + start40))) || ((j58 < (b_length40 + base + start40 + 40)) && ((b_key60 < a_key59) || (tcc_isnan_f32(a_key59) && (!tcc_isnan_f32(b_key60)))));
    key[item] = take61 ? b_key60 : a_key59;
    i32 spot65 = i32(min((take61 ? j58 : i57), 639));
    place[item] = places[spot65];
    i32 from62 = min(((take61 ? j58 : i57) + 1), 639);
    if (take61) {
      j58 = j58 + 1;
      i32 spot67 = i32(from62);
      b_key60 = keys[spot67];
    } else {
      i57 = i57 + 1;
      i32 spot66 = i32(from62);
      a_key59 = keys[spot66];
    }
  }
  __syncthreads();
  #pragma unroll
  for (i32 item = 0; item < 5; ++item) {
    keys[base + item + lane * 5] = key[item];
    places[base + item + lane * 5] = place[item];
  }
  __syncthreads();
  i32 start80 = (lane >> 5) * 160;
  i32 a_length80 = max(0, min(-start80 + 300, 80));
  i32 b_length80 = max(0, min(-start80 + 220, 80));
  i32 diagonal80 = min((lane & 31) * 5, a_length80 + b_length80);
  i32 low68 = max((-b_length80 + diagonal80), 0);
  i32 high69 = min(diagonal80, a_length80);
  for (i32 step73 = 0; step73 < 7; ++step73) {
    if (low68 < high69) {
      i32 middle70 = tcc_shr_i32(low68 + high69, 1);
      i32 spot72 = i32((base + start80 + 80) + ((diagonal80 - 1) - middle70));
      i32 spot71 = i32((base + start80) + middle70);
      if ((keys[spot72] < keys[spot71]) || (tcc_isnan_f32(keys[spot71]) && (!tcc_isnan_f32(keys[spot72])))) {
        high69 = middle70;
      } else {
        low68 = middle70 + 1;
      }
    }
  }
  i32 i74 = (base + start80) + low68;
  i32 j75 = (base + diagonal80 + start80 + 80) + (0 - low68);
  i32 spot80 = i32(min(i74, 639));
  f32 a_key76 = keys[spot80];
  i32 spot81 = i32(min(j75, 639));
  f32 b_key77 = keys[spot81];
  #pragma unroll
  for (i32 item = 0; item < 5; ++item) {
    bool take78 = (!(i74 < (a_length80 + base + start80))) || ((j75 < (b_length80 + base + start80 + 80)) && ((b_key77 < a_key76) || (tcc_isnan_f32(a_key76) && (!tcc_isnan_f32(b_key77)))));
    key[item] = take78 ? b_key77 : a_key76;
    i32 spot82 = i32(min((take78 ? j75 : i74), 639));
    place[item] = places[spot82];
    i32 from79 = min(((take78 ? j75 : i74) + 1), 639);
    if (take78) {
      j75 = j75 + 1;
      i32 spot84 = i32(from79);
      b_key77 = keys[spot84];
    } else {
      i74 = i74 + 1;
      i32 spot83 = i32(from79);
      a_key76 = keys[spot83];
    }
  }
  __syncthreads();
  #pragma unroll
  for (i32 item = 0; item < 5; ++item) {
    keys[base + item + lane * 5] = key[item];
    places[base + item + lane * 5] = place[item];
  }
  __syncthreads();
  i32 diagonal160 = min(300, lane * 5);
  if ((lane * 5) < 300) {
    i32 low85 = max((diagonal160 - 140), 0);
    i32 high86 = min(diagonal160, 160);
    for (i32 step90 = 0; step90 < 8; ++step90) {
      if (low85 < high86) {
        i32 middle87 = tcc_shr_i32(low85 + high86, 1);
        i32 spot89 = i32((base + 160) + ((diagonal160 - 1) - middle87));
        i32 spot88 = i32(base + middle87);
        if ((keys[spot89] < keys[spot88]) || (tcc_isnan_f32(keys[spot88]) && (!tcc_isnan_f32(keys[spot89])))) {
          high86 = middle87;
        } else {
          low85 = middle87 + 1;
        }
      }
    }
    i32 i91 = base + low85;
    i32 j92 = (base + diagonal160 + 160) + (0 - low85);
    i32 spot97 = i32(min(i91, 639));
    f32 a_key93 = keys[spot97];
    i32 spot98 = i32(min(j92, 639));
    f32 b_key94 = keys[spot98];
    #pragma unroll
    for (i32 item = 0; item < 5; ++item) {
      bool take95 = (!(i91 < (base + 160))) || ((j92 < (base + 300)) && ((b_key94 < a_key93) || (tcc_isnan_f32(a_key93) && (!tcc_isnan_f32(b_key94)))));
      key[item] = take95 ? b_key94 : a_key93;
      i32 spot99 = i32(min((take95 ? j92 : i91), 639));
      place[item] = places[spot99];
      i32 from96 = min(((take95 ? j92 : i91) + 1), 639);
      if (take95) {
        j92 = j92 + 1;
        i32 spot101 = i32(from96);
        b_key94 = keys[spot101];
      } else {
        i91 = i91 + 1;
        i32 spot100 = i32(from96);
        a_key93 = keys[spot100];
      }
    }
  }
  __syncthreads();
  #pragma unroll
  for (i32 item = 0; item < 5; ++item) {
    keys[base + item + lane * 5] = key[item];
    places[base + item + lane * 5] = place[item];
  }
  __syncthreads();
  #pragma unroll
  for (i32 item = 0; item < 5; ++item) {
    if ((item * 64 + lane) < 300) {
      b1[item * 64 + lane + line * 300] = keys[base + item * 64 + lane];
      b2[item * 64 + lane + line * 300] = tcc_i32_to_i64(places[base + item * 64 + lane]);
    }
  }
}

