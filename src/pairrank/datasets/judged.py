"""Records of judged queries, binary sets and comparisons: LETOR, MSLR, a9a, GIFGIF and others."""

from __future__ import annotations

from pairrank.datasets.record import DatasetRecord

_RESEARCH = "research only, by the publisher's agreement"

JUDGED = (
    DatasetRecord(
        name="letor4_mq2008",
        title="LETOR 4.0, MQ2008, supervised ranking, normalised by query",
        source=(
            "https://www.microsoft.com/en-us/research/project/"
            "letor-learning-rank-information-retrieval/ (T. Qin and T.-Y. Liu 2013)"
        ),
        licence=_RESEARCH,
        target="relevance, 0 to 2",
        n_rows=15211,
        n_columns=46,
        files={
            "S1.txt.gz": "cbd42504549a2388f6c0aefdb506f22074225b574c7a5df10194174c9b00e4e0",
            "S2.txt.gz": "055ac792cb8f7d5a029090b8acbfb6c57323339d1371251bf2465ac182aa8605",
            "S3.txt.gz": "a03fe2b6e76479de60fecdb37d560a40a4e899b0cd685553d2da31ea205af1ab",
            "S4.txt.gz": "a239850bc6fe960ad08c2b7b0d99db90fe976dd93a15358e98036591b4e7a2ac",
            "S5.txt.gz": "c68c52feb1ecae7f17b64c8e2fda2098302681bbd4ea5fad8c73a1d32a1cf2b2",
        },
        reader="letor_folds",
        settings={"n_features": 46},
        options=("fold=1..5", "subset='train'|'valid'|'test' (None: all rows)"),
        papers=("Lee and Lin 2014",),
    ),
    DatasetRecord(
        name="mslr_sample",
        title="Samples of MSLR, 54 queries, features as they are",
        source=(
            "https://www.microsoft.com/en-us/research/project/mslr/; samples in "
            "github.com/chang-li/OnlineLambdaMart and github.com/martinpetlus/LearningToRank"
        ),
        licence=_RESEARCH,
        target="relevance, 0 to 4",
        n_rows=6042,
        n_columns=136,
        files={
            "martinpetlus_pairwise_test.txt.gz": (
                "bc190a59096a4699a5c493360c049098e2647d6225859c091766479a291a1579"
            ),
            "martinpetlus_train.txt.gz": (
                "49455ec9b3fc8ed5063ca74964f23512728c7690d716d154af5699a38f841760"
            ),
            "mslr_fold1_test_sample.txt.gz": (
                "aa94008ded61db27ec6aec574e4545e72dc521f92b63d2fadc0023d1ae352e14"
            ),
            "mslr_fold1_valid_sample.txt.gz": (
                "307d5d733bd2ea96c841592c83f4ae21d8ffca031b55fc76dc896adaacb49e3d"
            ),
        },
        reader="svmlight_named",
        settings={
            "n_features": 136,
            "default": "all",
            "subsets": {
                "all": (
                    "mslr_fold1_test_sample.txt.gz",
                    "mslr_fold1_valid_sample.txt.gz",
                    "martinpetlus_train.txt.gz",
                    "martinpetlus_pairwise_test.txt.gz",
                ),
                "test": ("mslr_fold1_test_sample.txt.gz",),
                "valid": ("mslr_fold1_valid_sample.txt.gz",),
                "extra_train": ("martinpetlus_train.txt.gz",),
                "extra_test": ("martinpetlus_pairwise_test.txt.gz",),
            },
        },
        options=("subset='test'|'valid'|'extra_train'|'extra_test' (None: all rows)",),
        papers=("Lee and Lin 2014",),
        notes=(
            "Values up to 5e7: scale them. Six queries are both in test and in extra_train, so "
            "they are twice among all rows."
        ),
    ),
    DatasetRecord(
        name="webis_clueweb09_ltr",
        title="Webis features of ClueWeb09, TREC Web Tracks 2009 to 2012",
        source=(
            "github.com/webis-de/sigir20-sampling-bias-due-to-near-duplicates-in-learning-to-rank "
            "(M. Froebe et al., SIGIR 2020)"
        ),
        licence="CC BY-SA 4.0",
        target="relevance, 0 to 4",
        n_rows=26646,
        n_columns=42,
        files={
            "Fold1_test.txt.gz": "ab05f742d7bf680db38f39d485788ccefc46ca5f9c450058adcf1b21cb2ed6eb",
            "Fold2_test.txt.gz": "882c9e3d0145608d906b25acccdc8cb1760faca6c13afbd86096b24bd9748680",
            "Fold3_test.txt.gz": "3598b6f1ff411e6fd5572e6bac392efc6814614fec68d881c1e4b5edaeb03c5d",
            "Fold4_test.txt.gz": "cdfa2d696b5bda4dfe27dfbba432e9dff2a481507736af594824881127cd4377",
            "Fold5_test.txt.gz": "a2db821816295163492ddeb9ef94a05bb80cb68c195a5e783167f65960ab03fb",
        },
        reader="svmlight_parts",
        settings={"n_features": 42},
        options=("fold=1..5 with subset='train'|'test' (neither: all rows)",),
        notes="Five disjoint parts: a fold tests on one and trains on the other four.",
    ),
    DatasetRecord(
        name="libsvm_a9a",
        title="a9a: the census's Adult set, binary and sparse",
        source=(
            "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary.html#a9a; UCI Adult, "
            "https://archive.ics.uci.edu/dataset/2"
        ),
        licence="CC BY 4.0 (UCI)",
        target="income above 50,000: +1 or -1",
        n_rows=32561,
        n_columns=123,
        files={
            "a9a.gz": "7ba53cccb27e2e525f0fb173e1f446d49856e3fb007eb43be4ec6d0f5b3335ca",
            "a9a.t.gz": "1f448a153f0320399a7e40836eb207655b0bde0f21fc941cc472193daa9f5de9",
        },
        reader="svmlight_named",
        settings={
            "n_features": 123,
            "sparse": True,
            "default": "train",
            "subsets": {"train": ("a9a.gz",), "test": ("a9a.t.gz",)},
        },
        options=("subset='train' (default)|'test'",),
    ),
    DatasetRecord(
        name="sofia_ml_demo",
        title="The demonstration set of sofia-ml, binary and sparse",
        source="https://code.google.com/archive/p/sofia-ml (D. Sculley), folder demo",
        licence="Apache 2.0",
        target="+1 or -1",
        n_rows=1000,
        n_columns=109621,
        files={
            "demo.test.gz": "be93c0a72cf3aa1dd7380694e19899088d998cf3d7e3fe89705bba854fd4f38b",
            "demo.train.gz": "0c3f5732d366661f280707b2a954488a2e348d939f166252530f8c3fb578d545",
        },
        reader="svmlight_named",
        settings={
            "n_features": 109621,
            "sparse": True,
            "default": "train",
            "subsets": {"train": ("demo.train.gz",), "test": ("demo.test.gz",)},
        },
        options=("subset='train' (default)|'test'",),
        notes="Both subsets have as many columns as the test rows need.",
    ),
    DatasetRecord(
        name="algolia_movie_search",
        title="Film and series search with clicks, a workshop's file",
        source="github.com/algolia/my-first-learning-to-rank, data/dataset.csv",
        licence="MIT",
        target="score, 0 to 22",
        n_rows=1958,
        n_columns=114,
        files={
            "dataset.csv.gz": "f63a62c66b50502ebee8355447f8eb0a10e465df9fba5f582cd328c007639b4e",
        },
        reader="untidy_csv",
        settings={
            "label": "score",
            "qid": "normalized_query",
            "drop": ("id",),
            "words": ("type", "age_certification"),
        },
        notes=(
            "Queries are text, and their rows are not contiguous. An empty cell is its column's "
            "median; type and age_certification are one-hot, which makes 114 columns of 102."
        ),
    ),
)

COMPARISONS = (
    DatasetRecord(
        name="gifgif",
        title="GIFGIF: which of two animated pictures expresses more happiness",
        source=(
            "https://lucas.maystre.ch/gifgif-data (MIT Media Lab; collected by L. Maystre), as in "
            "github.com/zhaonanq/choice-Sinkhorn, data/gifgif_raw.txt"
        ),
        licence="not stated with the file",
        target="comparisons, the winner first",
        n_rows=6120,
        n_columns=6120,
        files={
            "gifgif_raw.txt.gz": "4cd4e5cfa880a8b2aac4cca6c69f56e56f82285d53e4a25b411e4e401590881c"
        },
        reader="comparisons_csv",
        settings={"columns": ("winner", "loser")},
        notes="X is the identity: one weight per item.",
    ),
    DatasetRecord(
        name="llmfao",
        title="LLMFAO: people compare answers of language models, with ties",
        source="github.com/dustalov/llmfao (D. Ustalov; answers by llmonitor.com)",
        licence="CC BY 4.0",
        target="comparisons; magnitude 0 where they tied",
        n_rows=59,
        n_columns=59,
        files={
            "crowd-comparisons.csv.gz": (
                "106564a4bf06f047a4662979384313c22d9b4ca901e780f9e8419f8e5581adb1"
            )
        },
        reader="comparisons_csv",
        notes="X is the identity: one weight per model.",
    ),
)
